#!/usr/bin/env bash
# Makes the *.fatbin files again; needs nvcc of CUDA 13. Tests read the committed files and need no CUDA.
set -euo pipefail
cd "$(dirname "$0")"
nvcc -fatbin -arch=sm_75 --no-compress tiny.cu -o plain.fatbin
nvcc -fatbin -arch=sm_75 tiny.cu -o zstd.fatbin
nvcc -fatbin -arch=sm_75 -compress-mode=speed tiny.cu -o lz4.fatbin
nvcc -fatbin -arch=sm_75 -rdc=true tiny.cu -o rdc.fatbin
nvcc -fatbin -gencode arch=compute_75,code=sm_75 tiny.cu -o machine_code.fatbin
nvcc -fatbin -gencode arch=compute_80,code=compute_80 -gencode arch=compute_75,code=compute_75 -gencode arch=compute_75,code=sm_75 tiny.cu -o several.fatbin
