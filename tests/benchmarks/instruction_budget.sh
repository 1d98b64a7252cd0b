#!/usr/bin/env bash
# A guard against slow-downs that noise can't fool: instructions of small fixed runs against a committed budget, 5 % tolerance.
#   instruction_budget.sh RIDGELINE COMPILER            checks (exit 77: can't be judged here)
#   instruction_budget.sh RIDGELINE COMPILER --write    records what the runs take now
# The budget holds for the compiler that it was recorded with: another one makes other code.
set -euo pipefail
binary=$1 compiler=$2 mode=${3:-check}
here=$(dirname "$(readlink -f "$0")")
budget=$here/instruction_budget.txt
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }

declare -A runs=(
  [fixed]="fixed.yaml --set workload.num_prompts=2000 --set fleet[0].replicas=4 --set workload.request_rate=26"
  [azure]="azure.yaml --set workload.num_prompts=500 --set fleet[0].replicas=4 --set workload.request_rate=14"
  [preempted]="long-context.yaml --set workload.num_prompts=300 --set fleet[0].replicas=1 --set workload.request_rate=0.75"
)
count() {  # count NAME
  local out
  # shellcheck disable=SC2086
  out=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$binary" run $here/runs/${runs[$1]} --progress never --json /dev/null 2>&1 >/dev/null) ||
    { echo "$out" >&2; exit 1; }
  sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$out"
}

if [[ $mode == --write ]]; then
  { echo "compiler $compiler"; for name in fixed azure preempted; do echo "$name $(count $name)"; done; } >"$budget.new"
  mv "$budget.new" "$budget"
  cat "$budget"
  exit
fi

recorded=$(sed -n 's/^compiler //p' "$budget")
[[ $recorded == "$compiler" ]] || { echo "skipped: the budget is for $recorded, this is $compiler"; exit 77; }
failed=0
for name in fixed azure preempted; do
  allowed=$(sed -n "s/^$name //p" "$budget")
  now=$(count $name)
  awk -v name=$name -v now="$now" -v allowed="$allowed" 'BEGIN {
    printf "%-10s %14d instructions, budget %14d: %+.1f %%\n", name, now, allowed, (now / allowed - 1) * 100
    if (now < allowed * 0.9) print "           well below the budget: record the gain with --write"
    exit now > allowed * 1.05 }' || failed=1
done
exit $failed
