#!/usr/bin/env python3
"""Times the kernels that engines really run, PyTorch's linear layers and fused attention, into the CSVs that
`ridgeline calibrate` reads (the columns of rows.cpp).

    python3 time_pytorch.py --out DIR --gpu h100-sxm-80gb

Needs PyTorch with CUDA. The sweep is a thinner version of sweep.cpp's.
"""
import argparse
import pathlib
import statistics
import sys

WEIGHTS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)]
ROWS = [1, 2, 4, 8, 16, 17, 32, 33, 64, 128, 129, 256, 257, 512, 1024, 2048, 2049, 4096, 8192]
HEADS = [(32, 8, 128), (32, 32, 128), (8, 1, 128)]
CONTEXTS = [128, 512, 2048, 8192, 32768]
PROMPTS = [64, 256, 1000, 2048, 8192]


def timed(torch, work, replays=9):
    """Median microseconds and relative interquartile range of one call, from a CUDA graph of repeats."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.synchronize()

    def elapsed(call):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    repeats = max(1, min(200, int(1000 / max(elapsed(work), 1e-3)) + 1))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(repeats):
            work()
    graph.replay()
    samples = sorted(elapsed(graph.replay) / repeats for _ in range(replays))
    quartiles = statistics.quantiles(samples, n=4)
    median = statistics.median(samples)
    return median, (quartiles[2] - quartiles[0]) / median


def measure_gemm(torch, out, gpu, source):
    out.write("gpu,op,dtype,m,n,k,time_us,source,spread\n")
    for n, k in WEIGHTS:
        copies = max(1, min(8, (512 << 20) // (2 * n * k)))
        weights = [torch.randn(n, k, device="cuda", dtype=torch.bfloat16) for _ in range(copies)]
        for m in ROWS:
            x = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            turn = iter(range(10**9))
            median, spread = timed(torch, lambda: torch.nn.functional.linear(x, weights[next(turn) % copies]))
            out.write(f"{gpu},gemm,bf16,{m},{n},{k},{median:.5g},{source},{spread:.5g}\n")


def measure_attention(torch, out, gpu, source):
    out.write("gpu,op,dtype,kv_dtype,num_q_heads,num_kv_heads,head_dim,batch,q_len,kv_len,causal,time_us,source,spread\n")
    free, _ = torch.cuda.mem_get_info()

    def row(op, heads, batch, q_len, kv_len):
        q_heads, kv_heads, dim = heads
        if 2 * batch * kv_len * kv_heads * dim * 2 > free * 0.5:
            return
        q = torch.randn(batch, q_heads, q_len, dim, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, kv_heads, kv_len, dim, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        median, spread = timed(torch, lambda: torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=q_len > 1, enable_gqa=q_heads != kv_heads))
        out.write(f"{gpu},{op},bf16,bf16,{q_heads},{kv_heads},{dim},{batch},{q_len},{kv_len},1,{median:.5g},{source},{spread:.5g}\n")

    for heads in HEADS:
        for batch in (1, 4, 16, 64):
            for context in CONTEXTS:
                row("attn_decode", heads, batch, 1, context)
        for batch in (1, 4):
            for prompt in PROMPTS:
                row("attn_prefill", heads, batch, prompt, prompt)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for the CSVs")
    parser.add_argument("--gpu", help="catalog name of the GPU; default: the driver's name")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed: nothing measured")
    if not torch.cuda.is_available():
        sys.exit("PyTorch sees no CUDA device: nothing measured")
    gpu = arguments.gpu or torch.cuda.get_device_name(0)
    source = f"pytorch-{torch.__version__}"
    arguments.out.mkdir(parents=True, exist_ok=True)
    for family, measure in (("gemm", measure_gemm), ("attention", measure_attention)):
        path = arguments.out / f"{family}_pytorch.csv"
        with open(path, "w", encoding="utf-8") as out:
            out.write(f"# gpu: {gpu}\n# driver: CUDA {torch.version.cuda}\n")
            measure(torch, out, gpu, source)
        print(path)


if __name__ == "__main__":
    main()
