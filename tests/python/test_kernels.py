# SPDX-License-Identifier: MIT
"""Kernels from numpy: what is accepted and refused, and that a kernel runs like its trace."""

import contextlib
import doctest
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
from hypothesis import HealthCheck, configuration, given, settings
from hypothesis import strategies as st

import mergelane
from mergelane import _analysis, _core, _kernels

GPU = "icc60"
configuration.set_hypothesis_home_dir(os.path.join(tempfile.gettempdir(), "mergelane-hypothesis"))  # not in the source tree
LONG = os.environ.get("MERGELANE_LONG") == "1"
COMMAND = os.environ["MERGELANE"]


# Traces are written through to the disk, which may be slow.
FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else None


def run(workload, gpu=GPU, threads=1):
    return mergelane.run(gpu, workload, threads=threads)


def stream(warps=64, instructions=4, lanes=32):
    return np.arange(warps * instructions * lanes).reshape(warps, instructions, lanes) * 4


class Running(unittest.TestCase):
    def check_trace(self, kernel, gpu=GPU):
        """A kernel and its trace have the same digest; returns the result."""
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            file = os.path.join(folder, "x.mlt")
            self.assertEqual(kernel.save(file), os.path.getsize(file))
            result = run(kernel, gpu)
            self.assertEqual(result.digest, run(file, gpu).digest)
            self.assertEqual(result.digest, run(kernel, gpu, threads=2).digest)
        if kernel.instructions is not None:
            self.assertEqual(result.warp_instructions, kernel.instructions)
        return result

    def test_counts_are_those_of_the_pattern(self):
        lines = run(mergelane.kernel(stream())).stats
        self.assertEqual(lines["sm.memory_instructions"], 64 * 4)
        self.assertEqual(lines["l1.sector_accesses"], 64 * 4 * 4)
        apart = run(mergelane.kernel(stream() * 32)).stats  # every lane reads its own line, and this L1 reads whole lines
        self.assertEqual(apart["l1.sector_accesses"], 64 * 4 * 4 * 32)

    def test_traces_have_the_same_digest(self):
        rng = np.random.default_rng(7)
        random = rng.integers(0, 1 << 20, (40, 6, 32)) * 4
        mask = rng.random((40, 6, 32)) < 0.5
        for kernel in (
            mergelane.kernel(stream()),
            mergelane.kernel(random, mask, write=[True, False] * 3, compute=[0, 5, 1, 0, 2, 3]),
            mergelane.kernel(random[:, :, :5], size=2, warps_per_cta=3, in_flight=1, write=True),
            mergelane.kernel(random % (1 << 14), space="shared", compute=4),
            mergelane.kernel(random, space="local", registers=255, shared_bytes=1 << 14),
            mergelane.kernel(stream(2, 3000, 4), write=np.arange(3000) % 7 == 0, compute=np.arange(3000) % 3),  # a loop
            mergelane.kernel(random.reshape(5, 8, 6, 32)),
            mergelane.kernel(stream(1, 5, 32)[0]),
            mergelane.kernel(np.array([[0]])),
        ):
            with self.subTest(kernel=kernel):
                self.check_trace(kernel)
        self.assertEqual(run(mergelane.kernel(stream(), compute=2), "h100").warp_instructions, 64 * 4 * 3)

    def test_the_command_runs_the_trace(self):
        kernel = mergelane.kernel(stream(), compute=1, name="mine")
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            file = os.path.join(folder, "x.mlt")
            kernel.save(file)
            answer = subprocess.run([COMMAND, "run", "--gpu", GPU, "-q", "--json", "-", file], check=True, capture_output=True, text=True)
            self.assertIn(run(kernel).digest, answer.stdout)

    def test_one_load_in_flight_is_slower(self):
        chain = stream(60, 32, 1) * 64
        one = run(mergelane.kernel(chain, in_flight=1, warps_per_cta=1)).cycles
        eight = run(mergelane.kernel(chain, in_flight=8, warps_per_cta=1)).cycles
        self.assertGreater(one, 4 * eight)

    def test_arrays_are_read_in_place(self):
        for dtype in (np.int64, np.uint64):
            array = stream().astype(dtype)
            kernel = mergelane.kernel(array)
            before = run(kernel).stats["l1.sector_accesses"]
            array *= 32
            self.assertEqual(run(kernel).stats["l1.sector_accesses"], 32 * before)
        array = stream().astype(np.int32)
        kernel = mergelane.kernel(array)
        array *= 32
        self.assertEqual(run(kernel).stats["l1.sector_accesses"], before)

    def test_an_array_lives_as_long_as_its_kernel(self):
        kernel = mergelane.kernel(stream(4096))
        digest = run(kernel).digest
        rubbish = [np.full(4096 * 4 * 32, 77) for _ in range(4)]
        self.assertEqual(run(kernel).digest, digest)
        del rubbish

    def test_any_layout_and_type_is_the_same_kernel(self):
        want = run(mergelane.kernel(stream())).digest
        padded = np.zeros((64, 4, 64), dtype=np.int64)
        padded[:, :, ::2] = stream()
        frozen = stream()
        frozen.flags.writeable = False
        for array in (stream().astype(np.uint16), stream().astype(">i4"), np.asfortranarray(stream()), padded[:, :, ::2], frozen,
                      stream().tolist()):
            self.assertEqual(run(mergelane.kernel(array)).digest, want)

    def test_masks_hide_values(self):
        array = stream()
        mask = np.ones(array.shape, dtype=bool)
        mask[:, :, 7] = mask[3] = False
        array[~mask] = -1
        result = self.check_trace(mergelane.kernel(array, mask))
        masked = mergelane.kernel(np.ma.MaskedArray(array, ~mask))
        self.assertEqual(run(masked).digest, result.digest)

    def test_an_array_that_changes_meanwhile_does_no_harm(self):
        array, mask = stream(100), np.ones((100, 4, 32), dtype=bool)
        kernel = mergelane.kernel(array, mask)
        ended = threading.Event()

        def change():
            rng = np.random.default_rng(1)
            while not ended.is_set():
                array[rng.integers(0, 100, 100)] = rng.integers(-(1 << 63), (1 << 63) - 1, (100, 4, 32))
                mask[rng.integers(0, 100, 100)] ^= True

        other = threading.Thread(target=change)
        other.start()
        try:
            with contextlib.suppress(mergelane.InputError):  # addresses are checked once more when a CTA is opened
                run(kernel, threads=2)
        finally:
            ended.set()
            other.join()

    def test_changed_addresses_are_checked(self):
        for wrong, said in ((3, "not a multiple of the bytes per lane"), (-4, "not below 2\\^48"), (1 << 60, "not below 2\\^48")):
            array = stream(100)
            kernel = mergelane.kernel(array, name="mine")
            array[17, 2, 5] = wrong
            for use in (lambda: run(kernel), lambda: mergelane.profile(kernel), lambda: kernel.save(os.path.join(tempfile.gettempdir(), "none.mlt"))):
                with self.assertRaisesRegex(mergelane.InputError, f"CTA 2 of kernel 'mine': address {wrong} of warp 1, access 2, lane 5 is {said}"):
                    use()
            mask = np.ones(array.shape, dtype=bool)
            mask[17, 2, 5] = False
            run(mergelane.kernel(array, mask))

    def test_launches(self):
        read, write = mergelane.kernel(stream(), name="read"), mergelane.kernel(stream(), write=True, name="write")
        both = mergelane.launches(read, write, read)
        result = self.check_trace(both)
        self.assertEqual((len(both), result.warp_instructions), (3, 3 * 256))
        self.assertEqual(result.digest, run(mergelane.launches([read, write, read])).digest)
        self.assertEqual(result.digest, run(mergelane.launches(mergelane.launches(read, write), read)).digest)


class Functions(unittest.TestCase):
    def test_functions_and_generators_are_like_arrays(self):
        array = stream(64)
        want = run(mergelane.kernel(array)).digest
        calls = []

        def rows(cta):
            calls.append(cta)
            return array[cta * 8:cta * 8 + 8].astype(np.int32)

        def generated(cta):
            for i in range(4):
                yield array[cta * 8:cta * 8 + 8, i]

        for threads in (1, 2):
            calls.clear()
            kernel = mergelane.kernel(rows, ctas=8)
            self.assertEqual(run(kernel, threads=threads).digest, want)
            self.assertEqual(sorted(calls), [0] + list(range(8)))
            self.assertEqual(run(mergelane.kernel(generated, ctas=8, warps_per_cta=8), threads=threads).digest, want)
        self.assertIsNone(kernel.instructions)
        Running.check_trace(self, kernel)

    def test_it_is_called_when_a_cta_is_dispatched(self):
        calls = []

        def late(cta):
            calls.append(cta)
            if len(calls) == 700:
                raise LookupError("no such CTA")
            return stream(8)

        with self.assertRaisesRegex(LookupError, "no such CTA"):
            run(mergelane.kernel(late, ctas=1_000_000, warps_per_cta=8))
        self.assertEqual(len(calls), 700)

    def test_masks_and_sizes_may_differ(self):
        def some(cta):
            array = stream(cta % 3, cta % 5, 1 + cta % 32)
            return array, np.ones(array.shape, dtype=bool)

        kernel = mergelane.kernel(some, ctas=64, warps_per_cta=2, compute=1)
        Running.check_trace(self, kernel)

    def test_what_it_returns_is_checked_when_it_runs(self):
        ok = stream(8)
        for wrong, said in ((None, "must be integers"), (stream(33), "33 warps"), (ok * 1.0, "float64"), (ok - 4, r"CTA 5\[0, 0, 0\] is -4"),
                            ((ok, ok), "mask must be"), (ok.reshape(1, 8, 4, 32), "shape"), (object(), "integers"), ("text", "integers")):
            kernel = mergelane.kernel(lambda cta, wrong=wrong: wrong if cta == 5 else ok, ctas=8)
            for threads in (1, 2):
                with self.subTest(said=said), self.assertRaisesRegex(mergelane.InputError, said):
                    run(kernel, threads=threads)
        with self.assertRaisesRegex(mergelane.InputError, "fewer elements"):
            run(mergelane.kernel(lambda cta: ok, ctas=8, write=[True, False]))

    def test_every_thread_may_fail(self):
        def wrong(cta):
            raise RuntimeError(f"CTA {cta}")

        for _ in range(20):
            with self.assertRaisesRegex(RuntimeError, "CTA"):
                run(mergelane.kernel(wrong, ctas=1000, warps_per_cta=1), threads=2)

    def test_an_endless_generator_is_stopped(self):
        old, _kernels._MOST_COPIED = _kernels._MOST_COPIED, 1 << 16
        try:
            def endless(cta):
                while True:
                    yield np.zeros((8, 32), dtype=int)
            with self.assertRaisesRegex(mergelane.InputError, "does it end"):
                mergelane.kernel(endless, ctas=2)
        finally:
            _kernels._MOST_COPIED = old

    def test_ctrl_c(self):
        def slow(cta):
            time.sleep(0.001)
            return stream(8)

        kernel = mergelane.kernel(slow, ctas=100_000, warps_per_cta=8)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            for what in (lambda: run(kernel), lambda: mergelane.profile(kernel), lambda: kernel.save(os.path.join(folder, "x.mlt"))):
                timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
                began = time.monotonic()
                timer.start()
                with self.assertRaises(KeyboardInterrupt):
                    what()
                    time.sleep(1)
                self.assertLess(time.monotonic() - began, 1.2 + 0.2)
                timer.join()
            self.assertEqual(os.listdir(folder), [])


class Refusals(unittest.TestCase):
    def refused(self, said, *arguments, **options):
        with self.subTest(said=said), self.assertRaisesRegex(mergelane.InputError, said):
            mergelane.kernel(*arguments, **options)

    def test_arrays(self):
        good = stream()
        self.refused("not float64; convert them", good * 1.0)
        self.refused("float64", np.full((2, 2, 2), np.nan))
        self.refused("not bool", good > 0)
        self.refused("not object", np.array([[1 << 70]]))
        self.refused("not object", np.array([[None]]))
        self.refused("must be integers", "text")
        self.refused("must be integers", None)
        self.refused("do not make an array|object", [[1], [1, 2]])
        self.refused("complex128", good * 1j)
        self.refused(r"\[1, 2, 3\] is -4; addresses must be from 0", np.where(np.arange(8192).reshape(64, 4, 32) == 195, -4, good))
        self.refused(r"\[0, 0\] is -8; ", np.array([[-8]], dtype=np.int8))
        self.refused("is 18446744073709551612|is -4", np.array([[(1 << 64) - 4]], dtype=np.uint64))
        self.refused("below 2\\^48", np.array([[1 << 48]]))
        self.refused("multiply an index by", np.arange(64).reshape(2, 32))
        self.refused("not a multiple of size=16", good, size=16)
        self.refused("empty", np.zeros((0, 4, 32), dtype=int))
        self.refused("empty", np.zeros((4, 0, 32), dtype=int))
        self.refused("empty", np.zeros((4, 4, 0), dtype=int))
        self.refused("shape \\(\\)", np.int64(4))
        self.refused("shape \\(8192,\\)", good.ravel())
        self.refused("shape \\(1, 1, 64, 4, 32\\)", good[None, None])
        self.refused("33 lanes", np.zeros((4, 33), dtype=int))
        self.refused("33 warps per CTA", np.zeros((2, 33, 1, 1), dtype=int))
        self.refused("would have to be copied", np.broadcast_to(np.int64(0), (1 << 20, 1 << 20, 32)))
        self.refused("1 MiB of shared memory", np.array([[1 << 20]]), space="shared")

    def test_masks(self):
        good = stream()
        self.refused("array of bool, not int64", good, good)
        self.refused("array of bool", good, 3)
        self.refused("the mask has the shape \\(4, 32\\)", good, np.ones((4, 32), dtype=bool))
        self.refused("the mask has the shape \\(\\)", good, True)
        self.refused("leave mask out", lambda cta: good, True, ctas=3)

    def test_options(self):
        good = stream()
        nan = float("nan")
        self.refused("size is 3", good, size=3)
        self.refused("size must be a whole number, not nan", good, size=nan)
        self.refused("size must be a whole number", good, size=True)
        self.refused("warps_per_cta is 33", good, warps_per_cta=33)
        self.refused("warps_per_cta is 0", good, warps_per_cta=0)
        self.refused("but the array has 64 warps", good, ctas=3)
        self.refused("array has 2 warps per CTA", good.reshape(-1, 2, 4, 32), warps_per_cta=8)
        self.refused("compute is 1001", good, compute=1001)
        self.refused("compute is -1", good, compute=[0, 0, 0, -1])
        self.refused("compute must be a whole number or one per instruction, not float64", good, compute=nan)
        self.refused("compute has the shape \\(3,\\); it must have 4", good, compute=[1, 2, 3])
        self.refused("compute is 1e\\+30|compute must be", good, compute=10**30)
        self.refused("write must be a bool", good, write=1)
        self.refused("write must be a bool", good, write="yes")
        self.refused("write has the shape", good, write=[True])
        self.refused("write has the shape", good, write=[[True] * 4])
        self.refused("in_flight is 0", good, in_flight=0)
        self.refused("in_flight is 65", good, in_flight=65)
        self.refused("registers is 1e\\+30", good, registers=10**30)
        self.refused("shared_bytes is -1", good, shared_bytes=-1)
        self.refused("the addresses reach", good % 4096, space="shared", shared_bytes=100)
        self.refused("unknown space 'texture'; known: global, local, shared", good, space="texture")
        self.refused("unknown space", good, space=[])
        for name in ("", "a" * 201, "a\n", "\ud800", "\0", 3, None):
            self.refused("a name is a text", good, name=name)
        self.refused("add ctas", lambda cta: good)
        self.refused("ctas is 0", lambda cta: good, ctas=0)
        self.refused("ctas is 1000000000000", lambda cta: good, ctas=10**12)
        self.refused("number of warps of CTA 0 is 64", lambda cta: good, ctas=2)

    def test_files_and_launches(self):
        kernel = mergelane.kernel(stream())
        for path in ("x.txt", b"x.mlt", ""):
            with self.assertRaisesRegex(mergelane.InputError, "trace file"):
                kernel.save(path)
        with self.assertRaises(TypeError):
            kernel.save(None)
        with self.assertRaises(mergelane.InputError):
            kernel.save("/no/such/folder/x.mlt")
        for wrong in ((), ([],), (3,), (kernel, stream())):
            with self.assertRaises(mergelane.InputError):
                mergelane.launches(*wrong)

    def test_the_module_checks_what_it_reads(self):
        params = dict(name="x", size=4, in_flight=8, registers=32, shared_bytes=0, space=0, warps=8, ctas=8, instructions=4, write=[False],
                      compute=[0])
        good = stream().astype(np.uint64)
        _core.kernel_of_arrays(params, good, None)
        for array, mask in ((good.astype(np.uint32), None), (good[:, :, ::2], None), (good[0], None), (good[:8], None),
                            (good, np.ones((64, 4, 31), dtype=bool)), (good, good), (good, 3), (3, None)):
            with self.assertRaises((ValueError, TypeError, RuntimeError)):
                _core.kernel_of_arrays(params, array, mask)
        for change in (dict(warps=0), dict(warps=33), dict(in_flight=0), dict(size=0), dict(size=3), dict(ctas=0), dict(ctas=9), dict(write=[]),
                       dict(compute=[60000]), dict(size=-1), dict(ctas=1 << 70), dict(name=3)):
            with self.subTest(change=change), self.assertRaises((ValueError, TypeError, RuntimeError)):
                _core.kernel_of_arrays({**params, **change}, good, None)


class Analysis(unittest.TestCase):
    def test_profile(self):
        both = mergelane.launches(mergelane.kernel(stream(), name="near"), mergelane.kernel(stream() * 32, name="far", write=True))
        frame = mergelane.profile(both)
        self.assertEqual(list(frame.index), ["near", "far", "total"])
        self.assertEqual(list(frame["global_memory.lines_per_access"])[:2], [1, 32])
        self.assertEqual(frame.attrs["units"]["global_memory.line_requests"], "lines of 128 B")
        self.assertTrue(mergelane.profile([both, both.kernels[0]]).loc["total", "instructions.warp_instructions"] == 3 * 256)

    def test_profile_is_that_of_the_command(self):
        answer = subprocess.run([COMMAND, "profile", "--synthetic", "tiled", "--param", "ctas=8"], check=True, capture_output=True, text=True)
        self.assertEqual(mergelane.profile("synthetic:tiled", params={"ctas": 8}).attrs["text"], answer.stdout)

    def test_advise_is_that_of_the_command(self):
        kernel = mergelane.kernel(stream(256) % 8192)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            file = os.path.join(folder, "x.mlt")
            kernel.save(file)
            answer = subprocess.run([COMMAND, "advise", "--gpu", GPU, "--set", "l1.mshrs=32", "--simulations", "2", file], check=True, capture_output=True, text=True)
        advice = mergelane.advise(kernel, GPU, set={"l1.mshrs": 32}, simulations=2)
        self.assertEqual(advice.attrs["text"], answer.stdout)
        self.assertGreaterEqual(advice["cycles"].notna().sum(), 2)
        self.assertIn(advice.attrs["recommended"], advice.index)

    def test_refusals(self):
        kernel = mergelane.kernel(stream())
        for call in (lambda: mergelane.profile(stream()), lambda: mergelane.profile("no_such"), lambda: mergelane.profile(3),
                     lambda: mergelane.profile(kernel, sms=0), lambda: mergelane.profile(kernel, resident=float("nan")),
                     lambda: mergelane.advise(kernel, "no_such_gpu"), lambda: mergelane.advise(kernel, GPU, simulations=41),
                     lambda: mergelane.advise(kernel, GPU, set={"no.such": 1}), lambda: mergelane.profile("no_such.mlt")):
            with self.assertRaises((mergelane.InputError, TypeError)):
                call()


NUMBERS = st.one_of(st.integers(), st.integers(-2, 40), st.floats(), st.booleans(), st.none(), st.text(max_size=3))
SHAPES = st.lists(st.integers(0, 40), min_size=0, max_size=5).filter(lambda shape: int(np.prod(shape, dtype=object)) <= 1 << 16)
DTYPES = st.sampled_from(["i1", "u1", "i2", ">u2", "i4", "u4", "i8", ">i8", "u8", "f4", "f8", "?", "c8", "O", "U2", "M8[s]", "V4"])


@st.composite
def arrays(draw):
    """Any array: its values are random bytes, or a pattern that can run."""
    shape, dtype = tuple(draw(SHAPES)), np.dtype(draw(DTYPES))
    size = int(np.prod(shape, dtype=int))
    kind = draw(st.sampled_from(["bytes", "zeros", "indices"]))
    if kind == "bytes" and dtype.kind in "iufcb":
        rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
        array = np.frombuffer(rng.bytes(size * dtype.itemsize), dtype=dtype).reshape(shape)
    elif kind == "indices" and dtype.kind in "iuf":
        array = (np.arange(size, dtype=np.int64).reshape(shape) * draw(st.sampled_from([1, 4, 16, 128]))).astype(dtype)
    else:
        array = np.zeros(shape, dtype=dtype)
    return array.T if draw(st.booleans()) else array


class AnyInput(unittest.TestCase):
    """Whatever is passed is refused with an InputError, or it runs."""

    def try_kernel(self, *arguments, **options):
        try:
            kernel = mergelane.kernel(*arguments, **options)
            repr(kernel), len(kernel)
            result = run(kernel)
        except (mergelane.InputError, mergelane.SimulationError):
            return
        if kernel.instructions is not None:
            self.assertEqual(result.warp_instructions, kernel.instructions)

    settings.register_profile("kernels", deadline=None, database=None, max_examples=2000 if LONG else 100,
                              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much])
    settings.load_profile("kernels")

    @given(arrays(), st.one_of(st.none(), arrays(), st.integers(0, 1)), st.sampled_from([1, 4, 16]))
    def test_arrays_and_masks(self, array, mask, size):
        if isinstance(mask, int):
            mask = np.random.default_rng(1).random(array.shape) < 0.5 * mask
        self.try_kernel(array, mask, size=size)

    @given(st.dictionaries(st.sampled_from(["size", "warps_per_cta", "compute", "in_flight", "registers", "shared_bytes", "ctas", "name",
                                            "space", "write"]),
                           st.one_of(NUMBERS, st.lists(NUMBERS, max_size=5), st.sampled_from(["global", "shared", "local"]))))
    def test_options(self, options):
        self.try_kernel(stream(20) % 4096, **options)

    @given(arrays(), st.integers(1, 20), st.one_of(st.none(), st.integers(1, 32)))
    def test_functions(self, array, ctas, warps):
        self.try_kernel(lambda cta: array if cta % 2 else array[..., :16, :32] if array.ndim > 1 else array, ctas=ctas, warps_per_cta=warps)

    @settings(max_examples=500 if LONG else 30)
    @given(st.integers(1, 20), st.integers(1, 12), st.integers(1, 32), st.integers(0, 3), st.integers(1, 40), st.booleans(), st.integers(0, 99))
    def test_what_runs_equals_its_trace(self, warps, instructions, lanes, compute, in_flight, write, seed):
        rng = np.random.default_rng(seed)
        array = rng.integers(0, 1 << 10, (warps, instructions, lanes)) * 8
        flags = rng.random(instructions) < 0.5 if write else False
        kernel = mergelane.kernel(array, rng.random(array.shape) < 0.8, compute=compute, in_flight=in_flight, write=flags, size=8)
        Running.check_trace(self, kernel)


def load_tests(loader, tests, pattern):
    for module in (_kernels, _analysis):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    sys.exit(unittest.main())
