// An explained run in plain words, and for programs.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "scenarios/explain/run_explanation.hpp"

namespace ridgeline {

/// "61 % waiting in the queue, 20 % its own prompt (15 % compute, 5 % weights), …": the largest first, down to one per cent.
std::string parts_text(const TimeParts& parts, bool of_ttft);

/// "waiting in the queue", "reading weights", …
std::string part_words(TimePart part);
std::string resource_words(Resource resource);
/// "-8.72 % ± 0.41" of `unchanged`; "(n.s.)" where an interval was asked for and holds 0.
std::string shift_text(const std::optional<Shift>& shift, std::optional<double> unchanged, bool intervals);

std::string run_explanation_text(const RunExplanation& explanation);
nlohmann::ordered_json run_explanation_json(const RunExplanation& explanation);

/// The figures with their intervals, and what is not determined.
std::string uncertainty_text(const Uncertainty& uncertainty);
nlohmann::ordered_json uncertainty_json(const Uncertainty& uncertainty);

}  // namespace ridgeline
