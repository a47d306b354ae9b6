#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles a CUDA program of this folder and runs it with `mergelane cuda`, functionally and timed.

Tests whose name begins with clang_ are compiled by clang without NVIDIA's toolkit (clang_suite_: a source of kernels/, run by
`mergelane run --workload`), the others by nvcc of CUDA 13. Where the compiler is missing, the exit code is 77 and a sentence says so; ctest reports the test as skipped.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import cluster_model

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CUDART = ROOT / "apps" / "cudart"
HEADER = CUDART / "include" / "mergelane_cuda.h"
SCRIPT = ROOT / "scripts" / "clang-cuda"
CLUSTER = ROOT / "cuda" / "mergelane" / "cta_cluster.cuh"
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def find(compiler, what):
    if not compiler or compiler.endswith("-NOTFOUND"):
        skip(f"there is no {what}")
    path = shutil.which(compiler)
    if path is None:
        skip(f"{compiler} cannot be started; this test needs {what}")
    return path


def find_nvcc(compiler):
    what = "nvcc of CUDA 13 (cmake -DMERGELANE_NVCC=/path/to/nvcc)"
    path = find(compiler, what)
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    if "release 13." not in version:
        skip(f"{path} is not of CUDA 13; this test needs {what}")
    return path


class Test:
    def __init__(self, options):
        self.options = options
        self.work = pathlib.Path(options.work) / options.name
        self.work.mkdir(parents=True, exist_ok=True)

    def call(self, command, expect=0, environment=None):
        done = subprocess.run([str(word) for word in command], cwd=self.work, capture_output=True, text=True, check=False,
                              env={**os.environ, **(environment or {})})
        if done.returncode != expect:
            sys.exit(f"{' '.join(str(w) for w in command)}\nexit code {done.returncode}, not {expect}\n{done.stdout}{done.stderr}")
        return done

    def build(self, program, command, made_from, environment=None):
        """Runs the compiler command[0], unless the program is there and was made from the same files by the same command."""
        state = hashlib.sha256(f"{[str(word) for word in command]} {os.stat(command[0]).st_mtime_ns}".encode())
        for file in [*made_from, HERE / "check.cuh"]:
            state.update(file.read_bytes())
        stamp = self.work / f"{program.name}.made_from"
        if not (program.exists() and stamp.exists() and stamp.read_text() == state.hexdigest()):
            stamp.unlink(missing_ok=True)
            self.call(command, environment=environment)
            stamp.write_text(state.hexdigest())
        return program

    def compile(self, sources, name, *flags, arch=("-arch=sm_75",), headers=()):
        program = self.work / name
        files = [HERE / source for source in sources]
        command = [self.options.nvcc, "-std=c++17", *arch, "-cudart", "shared", *flags, *files, "-o", program]
        return self.build(program, command, [*files, *headers])

    def run(self, *words, expect=0):
        return self.call([self.options.mergelane, "cuda", *words], expect)

    def works(self, program, says, stderr=None, untimed_arguments=()):
        """Prints `says`, with and without timing; timing does not depend on run or threads."""
        done = self.run(program, *untimed_arguments)
        assert says in done.stdout, done.stdout
        assert (done.stderr == "") if stderr is None else (stderr in done.stderr), done.stderr
        done = self.run("--gpu", "icc60", program)
        assert says in done.stdout and "icc60" in done.stderr and "digest" in done.stderr, done.stderr
        results = []
        for threads in (1, 2):
            file = self.work / f"result{threads}.json"
            self.run("--gpu", "v100", "--threads", threads, "--json", file, program)
            results.append(json.loads(file.read_text()))
        assert results[0]["digest"] == results[1]["digest"] and results[0]["cycles"] > 0
        return results[0]


def compression(test):
    for name, flags in {"plain": ["--no-compress"], "zstd": [], "lz4": ["-compress-mode=speed"]}.items():
        program = test.compile(["vector_add.cu"], name, *flags)
        assert "1000 sums are right" in test.run(program, "1000").stdout
    page = test.work / "page.html"
    assert "digest" in test.run("--gpu", "icc60", "--html", page, program, "1000").stderr  # the table as well
    assert 'class="bottleneck"' in page.read_text(encoding="utf-8")
    assert "give a file name" in test.run("--gpu", "icc60", "--html", "-", program, expect=2).stderr


def wrong_flags(test):
    static = test.work / "static"
    test.call([test.options.nvcc, "-arch=sm_75", HERE / "vector_add.cu", "-o", static])
    assert "-cudart shared" in test.run(static, expect=2).stderr
    sass = test.work / "sass"
    test.call([test.options.nvcc, "-gencode", "arch=compute_75,code=sm_75", "-cudart", "shared", HERE / "vector_add.cu", "-o", sass])
    assert "no PTX" in test.run(sass, expect=2).stderr
    assert "not found" in test.run("surely-no-such-program", expect=2).stderr
    for option in ("--json", "--html"):
        assert "--gpu" in test.run(option, "x.file", "true", expect=2).stderr
    assert test.run("false", expect=1).stderr == ""


def unsupported(test):
    program = test.compile(["unsupported.cu"], "unsupported")
    done = test.run("--keep-ptx", test.work, program)
    assert "unsupported: refused" in done.stdout
    assert "instruction 'txq." in done.stderr and "1 of 2 launches failed" in done.stderr, done.stderr
    # The line that is named is there to be looked at.
    line = int(done.stderr.split("unsupported.1.ptx:")[1].split(":")[0])
    assert "txq." in (test.work / "unsupported.1.ptx").read_text().splitlines()[line - 1]


def failed_launch(test, app):
    """A launch that cannot be executed must not end in success, unless the program asked and knows better."""
    said = "1 of 1 launches failed; the program did not check for errors (cudaGetLastError), so the exit code is 3, not 0"
    for timed in ([], ["--gpu", "icc60"]):
        done = test.run(*timed, app, expect=3)
        assert "cannot be executed" in done.stderr and "txq.width" in done.stderr and said in done.stderr, done.stderr
        assert "all written" in done.stdout, done.stdout
    done = test.run(app, "ask")
    assert "1 of 1 launches failed\n" in done.stderr, done.stderr
    test.run(app, "return", expect=7)
    assert "1 of 1 launches failed\n" in test.run(app, "empty").stderr
    # Nobody can be told, and the program goes on all the same.
    assert "all written" in test.call(["sh", "-c", 'exec "$0" cuda "$1" 2>/dev/full', test.options.mergelane, app], 3).stdout


def lines(test, app, compiled_by_nvcc):
    """Counts by instruction name lines of the source, in the table, in JSON, in a trace, and in what advise says."""
    source = (HERE / "lines.cu").read_text().splitlines()
    line = {mark: number for number, text in enumerate(source, 1) for mark in ("direct", "inlined", "call") if text.endswith("// " + mark)}
    told = test.run("--gpu", "v100", "--by-instruction", app).stderr
    registers = "from the cubin" if compiled_by_nvcc else "estimated from the PTX"
    assert "Instructions that wait longest" in told and registers in told, told
    assert f"lines.cu:{line['direct']}" in told, told
    # The PTX of clang 14 does not say where a line was inlined.
    inlined = f"lines.cu:{line['inlined']}" + (f" in lines.cu:{line['call']}" if compiled_by_nvcc else "")
    assert inlined in told, told
    file, replayed, trace_file = test.work / "result.json", test.work / "replayed.json", test.work / "x.mlt"
    plain = test.work / "plain.json"
    test.run("--gpu", "v100", "--by-instruction", "--json", file, app)
    test.run("--gpu", "v100", "--json", plain, app)
    test.run("--trace", trace_file, app)
    test.call([test.options.mergelane, "run", "--gpu", "v100", "-q", "--by-instruction", "--json", replayed, trace_file])
    first, second, without = (json.loads(f.read_text()) for f in (file, replayed, plain))
    assert first["by_instruction"] == second["by_instruction"] and first["digest"] == second["digest"] == without["digest"]
    assert first["kernels"][0]["registers_from"] == second["kernels"][0]["registers_from"] == ("cubin" if compiled_by_nvcc else "estimated")
    assert "by_instruction" not in without
    strided = [i for i in first["by_instruction"][0]["instructions"] if i.get("line") == line["direct"] and i["opcode"].startswith("ld.global")]
    assert strided and all(i["transactions"] == 32 * i["accesses"] and i["ideal"] == 4 * i["accesses"] for i in strided), strided
    advice = test.call([test.options.mergelane, "advise", "--gpu", "v100", "--simulations", "0", "--by-instruction", app]).stdout
    assert f"lines.cu:{line['direct']}" in advice, advice
    # Without timing there is nothing to count.
    assert "add --gpu" in test.run("--by-instruction", app, expect=2).stderr


def trace(test, app):
    """What is recorded is what is timed, and there is a whole trace or none, however the program ends."""
    file, folder = test.work / "x.mlt", test.work / "traces"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()

    def record(*words, expect=0, says="", gpu="gtx570", whole=True):
        made = folder / "x.mlt"
        made.unlink(missing_ok=True)
        done = test.run("--gpu", gpu, "--trace", made, app, *words, expect=expect)
        assert says in done.stderr, done.stderr
        assert os.listdir(folder) == (["x.mlt"] if whole else []), os.listdir(folder)
        if whole:
            test.call([test.options.mergelane, "trace", "info", made, "--check"])
            shutil.copy(made, file)
        return done

    # 1. Each launch is executed once (the program counts), and a replay is the timed run; the program sees the machine's SMs.
    assert "trace: done" in record(says="3 launches").stdout
    for words in (["one"], ["stores"], ["grid"], ["sms"], ["empty"], ["cooperative"]):
        record(*words)
        timed, replayed = test.work / "timed.json", test.work / "replayed.json"
        test.run("--gpu", "gtx570", "--json", timed, app, *words)
        test.call([test.options.mergelane, "run", "--gpu", "gtx570", "--quiet", "--json", replayed, file])
        assert json.loads(timed.read_text())["digest"] == json.loads(replayed.read_text())["digest"], words
    # 2. Ends: exit and return leave a trace, all others none.
    record("exit", expect=7, says="3 launches")
    record("fork", says="4 launches")
    for words, code, says in [("none", 2, "launched no kernel"), ("early", 6, "exit code 6 before it launched a kernel"),
                              ("_exit", 2, "without calling exit()"), ("abort", 134, "signal 6"), ("segv", 139, "signal 11"),
                              ("fork_launch", 2, "several processes"), ("exec", 2, "several processes")]:
        done = record(words, expect=code, says=says, whole=False)
        assert "no trace was written" in done.stderr, done.stderr
    # 3. An older trace stays when there is no new one.
    old = file.read_bytes()
    test.run("--trace", file, app, "abort", expect=134)
    assert file.read_bytes() == old
    # 4. A signal for the command is one for the program.
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        (folder / "x.mlt").unlink(missing_ok=True)
        done = stopped(test, number, "cuda", "--trace", folder / "x.mlt", app, "sleep")
        assert done.returncode == code and os.listdir(folder) == [], (done, os.listdir(folder))


def stopped(test, number, *words, environment=None):
    """The command, which is sent a signal as soon as its program sleeps."""
    process = subprocess.Popen([test.options.mergelane, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               env={**os.environ, **(environment or {})})
    assert "asleep" in process.stdout.readline()
    process.send_signal(number)
    process.stdout.read()
    process.wait(timeout=30)
    return process


def trace_refused(test, placed, unsupported):
    """Kernels that a trace cannot hold are named, and so is what to do."""
    file = test.work / "x.mlt"
    for app, says in [(placed, ["kernel 'where(unsigned int*, unsigned int*)' cannot be recorded", "reads its SM", "mergelane cuda --gpu"]),
                      (unsupported, ["kernel 'query(unsigned int*)' cannot be recorded", "txq.width"])]:
        done = test.run("--trace", file, app, expect=2)
        advised = test.call([test.options.mergelane, "advise", "--gpu", "gtx570", app], 2)
        for text in says:
            assert text in done.stderr and text in advised.stderr, done.stderr + advised.stderr
        assert not list(test.work.glob("x.mlt*")), list(test.work.glob("x.mlt*"))


def trace_advise(test, app):
    """Advice about a program is advice about its trace, or a sentence why there is none; no temporary file is left."""
    folder = test.work / "tmp"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    own = {"TMPDIR": str(folder)}
    machine = ["advise", "--gpu", "gtx570", "--set", "gpu.clusters=3", "--simulations", "1"]

    def advise(*words, expect=0):
        done = test.call([test.options.mergelane, *machine, *words], expect, own)
        assert os.listdir(folder) == [], os.listdir(folder)
        return done

    # 1. The program's words are its own, its output is out of the way, and the result is that of a trace.
    for mark in ([], ["--"]):
        done = advise("--json", "-", *mark, app, "echo", "[1,2]", "--json")
        assert "[[1,2]] [--json]" in done.stderr, done.stderr
        result = json.loads(done.stdout)
    file = test.work / "x.mlt"
    test.run("--gpu", "gtx570", "--set", "gpu.clusters=3", "--trace", file, app)
    assert json.loads(advise("--json", "-", file).stdout) == result
    # 2. An answer, also where there is little to say.
    for how in ("one", "stores", "grid", "sms", "empty"):
        assert "No change" in advise(app, how).stdout, how
    assert "the range starts at 4" in advise("--kernels", "4", app, expect=2).stderr
    # 3. A reason.
    for how, says in [("none", "launched no kernel"), ("early", "exit code 6"), ("exit", "exit code 7"), ("abort", "signal 6"),
                      ("_exit", "without calling exit()")]:
        done = advise("--json", "-", app, how, expect=2)
        assert says in done.stderr and done.stdout == "", done.stderr
    done = stopped(test, signal.SIGINT, *machine, app, "sleep", environment=own)
    assert done.returncode == 130 and os.listdir(folder) == [], (done.returncode, os.listdir(folder))


def trace_compare(test, app):
    """A program is a workload of comparisons and campaigns: run once, known by what it launches."""
    store = test.work / "compared"
    shutil.rmtree(store, ignore_errors=True)
    machines = ["gtx570 gpu.clusters=3", "gtx570 gpu.clusters=2"]

    def compare(*words, expect=0):
        return test.call([test.options.mergelane, "compare", *machines, "--store", store, "--json", "-", *words], expect)

    done = compare("--workload", f"{app} echo '[1, 2]' x.toml")
    assert "[[1, 2]] [x.toml]" in done.stderr, done.stderr
    result = json.loads(done.stdout)
    assert all(value > 0 for value in result["quantities"][0]["values"][0]["values"]), result
    assert len(list((store / "programs").iterdir())) == 1
    done = compare("--workload", f"{app} echo '[1, 2]' x.toml")
    assert "[[1, 2]]" not in done.stderr and json.loads(done.stdout) == result, done.stderr
    for how, says in [("none", "launched no kernel"), ("exit", "exit code 7"), ("'", "quotation mark")]:
        assert says in compare("--workload", f"{app} {how}", expect=2).stderr
    assert len(list((store / "programs").iterdir())) == 1
    campaign = test.work / "programs.toml"
    campaign.write_text(f'machines = ["gtx570"]\nset = ["gpu.clusters=3"]\nworkloads = ["./{app.name} one"]\n')
    assert app.parent == test.work, app
    shutil.rmtree(store, ignore_errors=True)
    test.call([test.options.mergelane, "campaign", "run", campaign, "--store", store])
    assert "\"finished\": 1," in test.call([test.options.mergelane, "campaign", "status", campaign, "--store", store, "--json"]).stdout


def result_file(test, app):
    """A result appears whole or not at all, and where there is no file to replace it is written in place."""
    folder = test.work / "results"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    file, link = folder / "old.json", folder / "link.json"
    file.write_text("old")
    link.symlink_to(file)
    timed = ["--gpu", "gtx570", "--json"]
    test.run(*timed, file, app, "abort", expect=-signal.SIGABRT)
    assert file.read_text() == "old" and sorted(os.listdir(folder)) == ["link.json", "old.json"], os.listdir(folder)
    test.run(*timed, link, "--keep-ptx", folder, app, "one")
    digest = json.loads(file.read_text())["digest"]
    assert link.is_symlink() and sorted(os.listdir(folder)) == ["app.1.ptx", "link.json", "old.json"], os.listdir(folder)
    output = test.run(*timed, "/dev/stdout", app, "one").stdout
    assert json.loads(output[output.index("{"):])["digest"] == digest
    # "-" is standard output, which the result then has for itself.
    done = test.run(*timed, "-", app)
    assert "cycles" in json.loads(done.stdout) and "trace: done" in done.stderr, done
    assert not (test.work / "-").exists()
    to_file = [test.options.mergelane, "cuda", *timed, "-", app]
    assert "cannot write the result to standard output: No space left" in test.call(["sh", "-c", 'exec "$@" >/dev/full', "sh", *to_file], 2).stderr
    test.call(["sh", "-c", '{ echo before; "$@"; echo after; } >both', "sh", *to_file])
    words = (test.work / "both").read_text()
    assert words.startswith("before\n{") and words.endswith("}\nafter\n"), words
    done = test.run(*timed, "/dev/full", app, "one", expect=2)
    assert "cannot write '/dev/full': No space left" in done.stderr, done.stderr


def rdc_damaged(test):
    """Containers that claim more than is loaded, and pointers to nowhere, are refused and do not end the program."""
    app = test.compile(["rdc_main.cu", "rdc_other.cu"], "app", "-rdc=true")
    whole = app.read_bytes()
    magic = (0xBA55ED50).to_bytes(4, "little")
    places = [found.start() for found in re.finditer(re.escape(magic), whole) if found.start() % 8 == 0]
    assert places
    for number, at in enumerate(places):
        for changes in ({8: 1 << 40}, {8: 1 << 40, 24: 1 << 30}, {8: 1 << 20}, {0: 0}):  # bytes of all entries, and of the first one
            content = bytearray(whole)
            for offset, value in changes.items():
                content[at + offset:at + offset + 8] = value.to_bytes(8, "little")
            damaged = test.work / "damaged"
            damaged.write_bytes(content)
            damaged.chmod(0o755)
            done = subprocess.run([test.options.mergelane, "cuda", str(damaged)], capture_output=True, text=True, check=False)
            assert 0 <= done.returncode < 128, (number, changes, done)
            assert done.returncode == 0 or done.stderr, done


def device_printf(test, app):
    test.works(app, "the kernel ran 2 times")
    printed = "".join(f"CTA {cta}\n" for cta in (0, 1, 2, 0, 1, 2)) + "[   -7|12  |ff|-12345678901234|   2.500|1.000000e+10|text|c|%|   9]\n"
    for timed in ([], ["--gpu", "icc60"]):
        assert test.run(*timed, app).stdout == printed + "device_printf: the kernel ran 2 times\n"
        done = test.run(*timed, app, "assert")
        assert "device-side assert triggered" in done.stdout, done.stdout
        failed = [line for line in done.stderr.splitlines() if "Assertion `threadIdx.x < 2 || data == nullptr` failed." in line]
        assert len(failed) == 2 and "block: [0,0,0], thread: [3,0,0]" in failed[1], done.stderr
        done = test.run(*timed, app, "trap")
        assert "unspecified launch failure" in done.stdout and "executed trap" in done.stderr, done


def clusters(test):
    """Executed, and timed on a machine that has GPCs; others refuse the kernels by name. A trace is timed the same."""
    app = test.compile(["clusters.cu"], "app", arch=("-arch=sm_90a",))
    done = test.run(app)
    assert "clusters: all as expected" in done.stdout, done.stdout
    for says in ("it requires clusters of 2 x 2 x 1 CTAs, but the launch says 4 x 1 x 1", "cudaFuncAttributeNonPortableClusterSizeAllowed",
                 "cuTensorMapEncodeTiled: the stride of dimension 1 is 408 bytes"):
        assert says in done.stderr, done.stderr
    # The program asks cudaDeviceSynchronize only, which says it, too.
    done = test.run(app, "hostile", expect=3)
    assert "clusters: cudaErrorLaunchFailure" in done.stdout, done.stdout
    assert "the tensor map cannot be used: its bytes are no tensor map" in done.stderr, done.stderr
    for words, says in (("cluster", "set gpc.enabled = true"), ("tensor", "set sm.tma.blocks_per_cycle")):
        assert says in test.run("--gpu", "v100", app, words, expect=1).stderr
        timed = test.run("--gpu", "h100", app, words)
        assert "digest" in timed.stderr, timed.stderr
        file = test.work / f"{words}.mlt"
        test.run("--trace", file, app, words)
        assert file.exists()


def placement(test, app):
    test.works(app, "placement: SMs seen: ", "where(unsigned int*, unsigned int*)' reads its SM", untimed_arguments=["one"])
    done = test.run("--gpu", "icc60", app)
    assert "SMs seen: 60 of 60" in done.stdout and "executed at placement" in done.stderr, done.stderr


# What each program prints when all is right, and where it is told something on standard error, what.
PROGRAMS = {
    "vector_add": ("10000 sums are right",),
    "reduction": ("the sum is",),
    "matmul": ("the product is right",),
    "histogram": ("all counts are right",),
    "shuffle": ("all warps agree",),
    "shared_scalar": ("all heard the sum",),
    "constant": ("three filters are right",),
    "bfs": ("1488 of 1500 nodes in 15 levels",),
    "structs": ("all members arrived",),
    "dynamic_shared": ("all reversed", "1 of 4 launches failed"),
    "math": ("10 functions are right",),
    "streams_events": ("all as expected",),
    "host_register": ("all as expected",),
    "templates": ("all as expected",),
    "wmma_gemm": ("both products are right",),
    "half_precision": ("both are right",),
    "thrust_sort": ("sorted, scanned, reduced",),
    "async_pipeline": ("5 ways to copy are right", "reads its SM ID"),  # waits look at the clock
    "errors": ("all as expected", "calls cudaIpcGetMemHandle"),
    "cooperative": ("CTAs kept in step", "1 of 3 launches failed"),
    "device_heap": ("lists built and freed", "reads its SM ID, its warp slot or a clock"),
    "function_pointers": ("0 wrong",),
    "recursion": ("0 wrong",),
    "textures": ("all as expected",),
    "graphs": ("all as expected",),
    "pools": ("all as expected",),
}
# Other architectures than sm_75 whose PTX is also, or only, tested.
ARCHITECTURES = {"async_pipeline": ("sm_80", "sm_75"), "cooperative": ("sm_75", "sm_80", "sm_90"), "half_precision": ("sm_75", "sm_80", "sm_90"),
                 "histogram": ("sm_75", "sm_80", "sm_90"), "matmul": ("any", "sm_80", "sm_90"), "wmma_gemm": ("sm_75", "sm_80", "sm_90")}
# Those that need no more of the toolkit than mergelane_cuda.h has.
CLANG_PROGRAMS = ["vector_add", "reduction", "matmul", "histogram", "shuffle", "shared_scalar", "constant", "bfs", "structs",
                  "dynamic_shared", "math", "host_register"]


def program(name, architecture):
    # As a user would: no -arch at all is also right with CUDA 13.
    arch = () if architecture == "any" else (f"-arch={architecture}",)
    return lambda test: test.works(test.compile([f"{name}.cu"], "app", arch=arch), *PROGRAMS[name])


def untimed(test, app, says, what):
    """Executed, but not timed because of `what`."""
    done = test.run(app)
    assert says in done.stdout, done
    refused = test.run("--gpu", "v100", app, expect=1).stderr
    assert what in refused and "no timing yet" in refused, refused


def async_pipeline_sm_90(test):
    """For Hopper the compiler turns some of its copies into bulk copies."""
    app = test.compile(["async_pipeline.cu"], "app", arch=("-arch=sm_90",))
    assert PROGRAMS["async_pipeline"][0] in test.run("--gpu", "h100", app).stdout
    assert "set sm.tma.blocks_per_cycle" in test.run("--gpu", "v100", app, expect=1).stderr


def clang_compile(test, name, *flags, headers=(), made="app"):
    source, made = HERE / f"{name}.cu", test.work / made
    return test.build(made, [SCRIPT, source, made, *flags], [source, HEADER, SCRIPT, *headers], environment={
        "CLANG": test.options.clang, "MERGELANE_CUDART": str(pathlib.Path(test.options.mergelane).parent)})


def clang_program(name):
    return lambda test: test.works(clang_compile(test, name), *PROGRAMS[name])


def clang_suite(module):
    """A source of the suite: clang's PTX instead of nvcc's, executed at the smallest size and compared with the CPU reference."""
    def run(test):
        source, made = ROOT / "kernels" / f"{module}.cu", test.work / f"{module}.ptx"
        made.parent.mkdir(exist_ok=True)
        (test.work / "metadata.toml").write_text("# No modules: registers are estimated from the PTX.\n")
        test.build(made, [SCRIPT, "--ptx", source, made], [source, HEADER, SCRIPT], environment={"CLANG": test.options.clang})
        executed = set()
        for workload in {"btree": ["b+tree"], "cnn": ["alexnet", "resnet", "squeezenet"], "tall": ["atax_tall", "mvt_tall", "bicg_tall"],
                         "rank_k": ["rank_k", "rank_2k"], "weights": ["weights_half", "weights_four"]}.get(source.stem, [source.stem]):
            result = test.work / "result.json"
            test.call([test.options.mergelane, "run", "--gpu", "icc60", "--workload", workload, "--size", "tiny", "--no-cache", "--quiet", "--json", result],
                      environment={"MERGELANE_KERNELS": str(test.work)})
            executed |= {kernel["name"] for kernel in json.loads(result.read_text())["kernels"]}
        entries = set(re.findall(r"\.entry\s+(\w+)", made.read_text()))
        assert executed == entries, f"executed {executed}, the PTX has {entries}"
    return run


# Programs that compare the versions cta_cluster.cuh makes of a kernel with the kernel, and what each prints.
CLUSTER_PROGRAMS = ["matmul", "stencil", "stream", "transpose", "histogram", "reduction", "early_return", "batched"]
CLUSTER_HEADERS = [CLUSTER, HERE / "cluster.cuh"]
STRICT = ["-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra,-Werror", "-I", CLUSTER.parent.parent]


def cluster_nvcc(test, name):
    return test.compile([f"cluster_{name}.cu"], "app", *STRICT, headers=CLUSTER_HEADERS)


def cluster_clang(test, name):
    # mergelane_cuda.h has parameters that only the device uses.
    return clang_compile(test, f"cluster_{name}", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", headers=CLUSTER_HEADERS)


def cluster_program(compiled, name):
    def run(test):
        app = compiled(test, name)
        for machine in ([], ["--gpu", "gtx570"], ["--gpu", "gtx980"], ["--gpu", "v100"]):
            done = test.run(*machine, app)
            assert f"{name.replace('_', ' ')}: 36 versions equal the original" in done.stdout, done.stdout
            assert "launches failed" not in done.stderr and ("executed at placement" in done.stderr) == bool(machine), done.stderr
    return run


def cluster_once(compiled):
    """Every task once: all agents on SM 0 (without --gpu), as planned, in random order, and filling one SM after the other."""
    def run(test):
        app = compiled(test, "once")
        says = "once: every task, in 58 launches on "
        assert f"{says}1 SMs" in test.run(app, "one").stdout
        for gpu, sms, scheduler in [("gtx570", 15, "random_per_turnaround"), ("gtx980", 16, "greedy"), ("v100", 80, None)]:
            done = test.run("--gpu", gpu, *(["--set", f"dispatch.scheduler={scheduler}"] if scheduler else []), app)
            assert f"{says}{sms} SMs" in done.stdout and "launches failed" not in done.stderr, done.stdout + done.stderr
    return run


def cluster_compile(test):
    """Without a warning for every generation, down to machine code; and two files of a program may include the header."""
    architectures = [word for sm in (75, 80, 90, 100) for word in ("-gencode", f"arch=compute_{sm},code=sm_{sm}")]
    second = test.work / "second.cu"
    second.write_text("#include <mergelane/cta_cluster.cuh>\n__global__ void second(mergelane::Agents agents, unsigned* out, mergelane::Order order) {\n"
                      "    for (const dim3 block : agents) out[block.x] = mergelane::swizzle(order).x;\n}\n")
    objects = []
    for source in (HERE / "cluster_once.cu", second):
        made = test.work / f"{source.stem}.o"
        test.build(made, [test.options.nvcc, "-std=c++17", *architectures, *STRICT, "-c", source, "-o", made], [source, *CLUSTER_HEADERS])
        objects.append(made)
    test.call([test.options.nvcc, "-cudart", "shared", *objects, "-o", test.work / "both"])


def cluster_page(_):
    """The kernels of the page are those that are tested: each of its CUDA blocks is part of one of the programs."""
    blocks = re.findall(r"```cuda\n(.*?)```", (ROOT / "docs" / "cta-cluster.md").read_text(), re.S)
    sources = {name: (HERE / f"cluster_{name}.cu").read_text() for name in ("matmul", "stencil", "stream")}
    shown = {name for block in blocks for name, source in sources.items() if block in source}
    assert shown == set(sources) and all(any(block in source for source in sources.values()) for block in blocks), blocks


def advise_page(_):
    """The kernels of the page are those of the program."""
    source = (HERE / "advise_rows.cu").read_text()
    blocks = re.findall(r"```cuda\n(.*?)```", (ROOT / "docs" / "advise.md").read_text(), re.S)
    assert len(blocks) >= 2 and all(block in source for block in blocks), blocks


def advise_rows(test, app, gain):
    """What the page promises: advice, and the kernel that follows it does the same in fewer cycles."""
    done = test.call([test.options.mergelane, "advise", "--gpu", "gtx980", "--simulations", "2", "--json", "-", app])
    advice = json.loads(done.stdout)
    assert advice["recommended"].startswith("agents by rows, ") and advice["gain"] > gain, (advice["recommended"], advice["gain"])
    cycles, outputs = [], []
    for words in ([], ["agents"]):
        file = test.work / "result.json"
        outputs.append(test.run("--gpu", "gtx980", "--json", file, app, *words).stdout)
        cycles.append(json.loads(file.read_text())["cycles"])
    assert outputs[0] == outputs[1] and outputs[0].startswith("done"), outputs
    assert cycles[1] * gain < cycles[0], cycles


def skips(test):
    """Without its compiler, or with another version of it, a test says so and is skipped; it neither passes nor disappears."""
    for name, compiler, says in [("vector_add", "--nvcc=", "no nvcc of CUDA 13"), ("vector_add", "--nvcc=true", "is not of CUDA 13"),
                                 ("vector_add", "--nvcc=MERGELANE_NVCC-NOTFOUND", "no nvcc"), ("abi", "--nvcc=/no/such/nvcc", "/no/such/nvcc"),
                                 ("clang_vector_add", "--clang=", "no clang 14"), ("clang_suite_rodinia_bfs", "--clang=clang++-14", "cannot be started")]:
        path = {} if "true" in compiler else {"PATH": ""}
        done = test.call([sys.executable, __file__, "--work", test.work, compiler, name], SKIPPED, path)
        assert done.stdout.startswith("skipped: ") and says in done.stdout, done.stdout


def stubs(test):
    """Where the toolkit has what stands for the driver when a program is linked."""
    for folder in ("lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs"):
        if (pathlib.Path(test.options.nvcc).resolve().parent.parent / folder / "libcuda.so").exists():
            return pathlib.Path(test.options.nvcc).resolve().parent.parent / folder
    skip("the toolkit has no libcuda.so to link to")


def driver_module(test):
    app = test.compile(["driver_module.cu"], "app", f"-L{stubs(test)}", "-lcuda")
    test.works(app, "the driver and the runtime agree", "calls cuMemPoolTrimTo, which the replacement driver does not have")
    assert "the trap was reported" in test.run(app, "trap").stdout


def microbench(test, app):
    """The patterns as a CUDA program measure what the command measures."""
    done = test.run("--gpu", "v100", app)
    seen = {}
    for line in done.stdout.splitlines()[1:]:
        seen.setdefault(line[:28].strip(), []).append(float(line[28:].split()[0]))
    own = json.loads(test.call([test.options.mergelane, "microbench", "--gpu", "v100", "--json", "-", "--only", "latency.shared", "--only", "latency.l1",
                                "--only", "latency.l2_near", "--only", "latency.dram_near", "--only", "launch"]).stdout)
    own = {row["name"]: row["measured"] for row in own["benchmarks"]}
    for name, line, most in (("latency.shared", "latency of shared memory", 4), ("latency.l1", "latency of the L1", 4), ("latency.l2_near", "latency of the L2", 6),
                             ("latency.dram_near", "latency of DRAM", 20), ("launch", "launch", 10)):
        assert abs(seen[line][0] - own[name]) <= most, (line, seen[line], own[name])
    assert seen["bandwidth of the L2"] == sorted(seen["bandwidth of the L2"][:3]) + sorted(seen["bandwidth of the L2"][3:], reverse=True), seen
    assert seen["atomics, own addresses"][0] > 10 * seen["atomics, one address"][0], seen


def nvrtc(test):
    """With the shared runtime, and with the static one, which a program that only uses the driver API does not call."""
    if not list(pathlib.Path(test.options.nvcc).resolve().parent.parent.glob("lib*/libnvrtc.so")):
        skip("the toolkit has no NVRTC")
    flags = (f"-L{stubs(test)}", "-lcuda", "-lnvrtc")
    app = test.compile(["nvrtc.cpp"], "app", *flags)
    test.works(app, "compiled while running: right")
    assert "compiled while running: right" in test.run(app, "machine code").stdout
    static = test.work / "static"
    test.build(static, [test.options.nvcc, "-std=c++17", HERE / "nvrtc.cpp", *flags, "-o", static], [HERE / "nvrtc.cpp"])
    assert "compiled while running: right" in test.run(static).stdout


BLAS_NOTICE = "cuBLAS calls are executed by Mergelane's own GEMM kernels"


def blas(name, says):
    def run(test):
        if not list(pathlib.Path(test.options.nvcc).resolve().parent.parent.glob("lib*/libcublasLt.so")):
            skip("the toolkit has no cuBLAS")
        test.works(test.compile([f"{name}.cu"], "app", "-lcublas", "-lcublasLt"), says, BLAS_NOTICE)
    return run


def older_runtimes(test):
    """A program that asks for the libraries of CUDA 11, 12 or 13, with the versions of their symbols and the sizes of their structures."""
    compiler = shutil.which("c++") or skip("there is no C++ compiler")
    names = ["cudaGetDeviceProperties", "cudaGetDeviceProperties_v2", "cudaPointerGetAttributes", "cudaFuncGetAttributes", "cudaMalloc",
             "cudaMallocManaged", "cudaMemPrefetchAsync", "cudaThreadSynchronize", "cudaGetErrorName"]
    for version, properties in {"11.0": 728, "12": 1032, "13": 1008}.items():
        folder = test.work / version
        folder.mkdir(exist_ok=True)
        library, script, source = folder / f"libcudart.so.{version}", folder / "map", folder / "empty.cpp"
        source.write_text("".join(f'extern "C" int {name}() {{ return 1; }}\n' for name in names))
        script.write_text(f"libcudart.so.{version} {{ *; }};\n")
        test.call([compiler, "-shared", "-fPIC", source, f"-Wl,-soname,{library.name}", f"-Wl,--version-script={script}", "-o", library])
        app = folder / "app"
        test.call([compiler, "-std=c++17", f"-DMAJOR={version.split('.')[0]}", f"-DPROPERTIES={properties}", HERE / "older_runtime.cpp", library,
                   "-o", app])
        done = test.run(app)
        assert f"as with CUDA {version.split('.')[0]}" in done.stdout and done.stderr == "", done.stdout + done.stderr


# Those of kernels/llm and two applications need the toolkit's headers of 16-bit formats, or instructions that clang 14 does not know.
SUITE = sorted(str(path.relative_to(ROOT / "kernels").with_suffix("")) for path in (ROOT / "kernels").glob("*/*.cu")
               if path.parent.name != "llm" and "<cuda_fp16.h>" not in path.read_text(encoding="utf-8"))

TESTS = {
    "skips": skips,
    **{name if k == 0 else f"{name}_{arch}": program(name, arch)
       for name in PROGRAMS for k, arch in enumerate(ARCHITECTURES.get(name, ("sm_75",)))},
    "async_pipeline_sm_90": async_pipeline_sm_90,
    "microbench": lambda t: microbench(t, t.compile([ROOT / "cuda" / "microbench" / "microbench.cu"], "app", "-O3")),
    "device_printf": lambda t: device_printf(t, t.compile(["device_printf.cu"], "app")),
    "clusters": clusters,
    "placement": lambda t: placement(t, t.compile(["placement.cu"], "app")),
    "rdc": lambda t: t.works(t.compile(["rdc_main.cu", "rdc_other.cu"], "app", "-rdc=true"), "both files agree"),
    "device_launch": lambda t: untimed(t, t.compile(["device_launch.cu"], "app", "-rdc=true", "-lcudadevrt"), "kernels launch kernels", "LaunchDevice"),
    "rdc_damaged": rdc_damaged,
    "unsupported": unsupported,
    "failed_launch": lambda t: failed_launch(t, t.compile(["failed_launch.cu"], "app")),
    "clang_failed_launch": lambda t: failed_launch(t, clang_compile(t, "failed_launch")),
    "lines": lambda t: lines(t, t.compile(["lines.cu"], "app", "-lineinfo"), True),
    "clang_lines": lambda t: lines(t, clang_compile(t, "lines", "-gline-tables-only"), False),
    "trace": lambda t: trace(t, t.compile(["trace.cu"], "app")),
    "clang_trace": lambda t: trace(t, clang_compile(t, "trace")),
    "result_file": lambda t: result_file(t, t.compile(["trace.cu"], "app")),
    "clang_result_file": lambda t: result_file(t, clang_compile(t, "trace")),
    "trace_advise": lambda t: trace_advise(t, t.compile(["trace.cu"], "app")),
    "clang_trace_advise": lambda t: trace_advise(t, clang_compile(t, "trace")),
    "trace_compare": lambda t: trace_compare(t, t.compile(["trace.cu"], "app")),
    "clang_trace_compare": lambda t: trace_compare(t, clang_compile(t, "trace")),
    "trace_refused": lambda t: trace_refused(t, t.compile(["placement.cu"], "placed"), t.compile(["failed_launch.cu"], "unsupported")),
    "clang_trace_refused": lambda t: trace_refused(t, clang_compile(t, "placement", made="placed"),
                                                   clang_compile(t, "failed_launch", made="unsupported")),
    "driver_module": driver_module,
    "nvrtc": nvrtc,
    "older_runtimes": older_runtimes,
    "cublas_gemm": blas("cublas_gemm", "35 results of cuBLAS are right"),
    "lt_matmul": blas("lt_matmul", "11 epilogues are right"),
    "compression": compression,
    "wrong_flags": wrong_flags,
    "abi_libraries": lambda t: t.compile(["abi_libraries.cu"], "abi", "-I", CUDART.parent / "cublas",
                                         headers=[CUDART.parent / "cublas" / "arguments.hpp"]),
    "abi": lambda t: t.compile(["abi_check.cu"], "abi", "-I", CUDART, headers=[CUDART / "abi.hpp"]),
    **{f"cluster_{name}": cluster_program(cluster_nvcc, name) for name in CLUSTER_PROGRAMS},
    **{f"clang_cluster_{name}": cluster_program(cluster_clang, name) for name in CLUSTER_PROGRAMS},
    "cluster_once": cluster_once(cluster_nvcc),
    "clang_cluster_once": cluster_once(cluster_clang),
    "cluster_compile": cluster_compile,
    "cluster_page": cluster_page,
    "advise_page": advise_page,
    "advise_rows": lambda t: advise_rows(t, t.compile(["advise_rows.cu"], "app", "-I", ROOT / "cuda", headers=[CLUSTER]), 1.03),
    "clang_advise_rows": lambda t: advise_rows(t, clang_compile(t, "advise_rows", headers=[CLUSTER]), 1.7),
    "cluster_model": lambda _: cluster_model.check_all(),
    **{f"clang_{name}": clang_program(name) for name in CLANG_PROGRAMS},
    "clang_placement": lambda t: placement(t, clang_compile(t, "placement")),
    **{f"clang_suite_{module.replace('/', '_')}": clang_suite(module) for module in SUITE},
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("--mergelane", default="mergelane")
    parser.add_argument("--work", default=".")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--clang", default="clang++-14")
    parser.add_argument("name", nargs="?", choices=TESTS)
    options = parser.parse_args()
    if options.list or options.name is None:
        print("\n".join(TESTS))
        return
    if options.name in ("skips", "older_runtimes", "cluster_page", "advise_page", "cluster_model"):
        pass
    elif options.name.startswith("clang_"):
        options.clang = find(options.clang, "clang 14 (cmake -DMERGELANE_CLANG_CUDA=/path/to/clang++-14)")
    else:
        options.nvcc = find_nvcc(options.nvcc)
    options.mergelane = str(pathlib.Path(options.mergelane).resolve())
    TESTS[options.name](Test(options))


if __name__ == "__main__":
    main()
