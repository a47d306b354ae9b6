# SPDX-License-Identifier: MIT
"""Kernels whose addresses are numpy arrays."""

from __future__ import annotations

import inspect
import operator
import os
from typing import Any, Callable, Iterable, Optional, Sequence, Tuple, Union

import numpy as np

from . import _core
from ._core import InputError

_SPACES = {"global": 0, "local": 1, "shared": 2}
_ADDRESS_BITS = 48
_SHARED_BYTES = 1 << 20
_MOST_COPIED = 1 << 28  # addresses
_MOST_CTAS = 1 << 28
_MOST_INSTRUCTIONS = 1 << 31


class _Launchable:
    """What `run`, `profile` and `advise` take, besides the names of workloads."""

    def __init__(self, name: str, core_workload: Any):
        self._name = name
        self._core_workload = core_workload

    @property
    def name(self) -> str:
        return self._name

    def save(self, path: Union[str, os.PathLike]) -> int:
        """Writes a trace file (.mlt), which `run` and the command take like any other; returns its size in bytes."""
        text = os.fspath(path)
        if not isinstance(text, str) or not text.endswith(".mlt"):
            raise InputError(f"'{text}' is not the name of a trace file; let it end with .mlt")
        return _core.save(self._core_workload, text)


class Kernel(_Launchable):
    """One launch of a kernel, made by `mergelane.kernel`. Its length is the number of its CTAs."""

    def __init__(self, core_workload: Any, params: dict, instructions: Optional[int], text: str):
        super().__init__(params["name"], core_workload)
        self._params = params
        self._instructions = instructions
        self._text = text

    @property
    def ctas(self) -> int:
        return self._params["ctas"]

    @property
    def warps_per_cta(self) -> int:
        return self._params["warps"]

    @property
    def instructions(self) -> Optional[int]:
        """Warp instructions of the whole kernel; None if a function makes them."""
        return self._instructions

    def __len__(self) -> int:
        return self.ctas

    def __repr__(self) -> str:
        ctas = f"{self.ctas} CTA{'s' if self.ctas != 1 else ''} of {self.warps_per_cta} warp{'s' if self.warps_per_cta != 1 else ''}"
        return f"<mergelane.Kernel {self.name!r}: {ctas}, {self._text}>"


class Launches(_Launchable):
    """Kernels that run one after the other on one machine, made by `mergelane.launches`. Its length is their number."""

    def __init__(self, kernels: Tuple[_Launchable, ...], name: str):
        super().__init__(name, _core.sequence_of(name, [kernel._core_workload for kernel in kernels]))
        self.kernels = kernels

    @property
    def instructions(self) -> Optional[int]:
        counts = [kernel.instructions for kernel in self.kernels]  # type: ignore[attr-defined]
        return None if None in counts else sum(counts)

    def __len__(self) -> int:
        return len(self.kernels)

    def __repr__(self) -> str:
        return f"<mergelane.Launches {self.name!r}: {', '.join(kernel.name for kernel in self.kernels)}>"


def launches(*kernels: Union[Kernel, Launches, Sequence], name: Optional[str] = None) -> Launches:
    """Several kernels as one workload: caches keep what the previous one left.

    >>> import numpy as np, mergelane
    >>> k = mergelane.kernel(np.arange(4096).reshape(-1, 4, 32) * 4, name="read")
    >>> mergelane.launches(k, k)
    <mergelane.Launches 'read, read': read, read>
    """
    given: Sequence[Any] = kernels[0] if len(kernels) == 1 and isinstance(kernels[0], (list, tuple)) else kernels
    if not given:
        raise InputError("no kernels were given; launches takes one or more")
    for one in given:
        if not isinstance(one, _Launchable):
            raise InputError(f"launches takes what mergelane.kernel makes, not {type(one).__name__}")
    if name is None:
        name = ", ".join(one.name for one in given[:3]) + (", ..." if len(given) > 3 else "")
    return Launches(tuple(given), _name(name))


def kernel(addresses: Any, mask: Any = None, *, write: Any = False, size: int = 4, warps_per_cta: Optional[int] = None,
           compute: Any = 0, name: str = "kernel", space: str = "global", ctas: Optional[int] = None, in_flight: int = 8,
           registers: int = 32, shared_bytes: Optional[int] = None) -> Kernel:
    """A kernel that accesses the given byte addresses.

    `addresses`: integers of shape (warps, instructions, lanes) or (ctas, warps, instructions, lanes), or (instructions, lanes)
    for one warp; at most 32 lanes. An array of int64 or uint64 in C order is read in place while the kernel runs; others are
    converted once. Or a function: `addresses(cta)` returns the array of one CTA, (instructions, lanes) or
    (warps, instructions, lanes), or a tuple of it and its mask; a generator function yields an array (warps, lanes) or (lanes,)
    for one instruction after the other. It is called when the CTA is dispatched, from another thread, with `ctas` numbers from
    0; once more for CTA 0 unless `warps_per_cta` is given. It must return the same for the same number.

    `mask`: which lanes are active, bool of the same shape. `write`: stores instead of loads; a bool, or one per instruction.
    `size`: bytes of a lane (1, 2, 4, 8 or 16); addresses are multiples of it. `warps_per_cta`: 8 unless the array says it, or
    has fewer. `compute`: arithmetic instructions after each access; a number, or one per instruction. `in_flight`: an access
    waits for the load so many accesses earlier, as do the instructions after it; 1: for the load before it. `space`: "global",
    "local" or "shared". `registers` per thread and `shared_bytes` per CTA limit how many CTAs fit on an SM.

    >>> import numpy as np, mergelane
    >>> rows = np.arange(1 << 16).reshape(-1, 4, 32) * 4          # every warp reads four lines of 128 bytes
    >>> mergelane.kernel(rows)
    <mergelane.Kernel 'kernel': 64 CTAs of 8 warps, 4 loads of 32 lanes x 4 bytes per warp>
    >>> def column(cta):
    ...     return (np.arange(32) * 512 + cta) * 4 + np.zeros((8, 4, 1), dtype=int)
    >>> mergelane.kernel(column, ctas=512, name="column")
    <mergelane.Kernel 'column': 512 CTAs of 8 warps, loads of 4 bytes, made by a function>
    """
    params = {
        "name": _name(name),
        "size": _number("size", size, 1, 16),
        "in_flight": _number("in_flight", in_flight, 1, 64),
        "registers": _number("registers", registers, 1, 255),
        "shared_bytes": 0 if shared_bytes is None else _number("shared_bytes", shared_bytes, 0, _SHARED_BYTES),
        "warps": None if warps_per_cta is None else _number("warps_per_cta", warps_per_cta, 1, 32),
    }
    if params["size"] not in (1, 2, 4, 8, 16):
        raise InputError(f"size is {size}; it must be 1, 2, 4, 8 or 16")
    if not isinstance(space, str) or space not in _SPACES:
        raise InputError(f"unknown space {space!r}; known: {', '.join(_SPACES)}")
    params["space"] = _SPACES[space]
    if callable(addresses):
        return _of_function(addresses, mask, write, compute, ctas, params)
    return _of_array(addresses, mask, write, compute, ctas, params, shared_bytes)


def _of_array(addresses: Any, mask: Any, write: Any, compute: Any, ctas: Any, params: dict, shared_bytes: Optional[int]) -> Kernel:
    array, active = _checked(addresses, mask, params, "addresses", 4)
    if 0 in array.shape:
        raise InputError(f"addresses are empty: their shape is {array.shape}")
    if array.ndim == 4:
        if array.shape[1] > 32:
            raise InputError(f"the array has {array.shape[1]} warps per CTA; a CTA has at most 32")
        if params["warps"] not in (None, array.shape[1]):
            raise InputError(f"warps_per_cta is {params['warps']}, but the array has {array.shape[1]} warps per CTA")
        params["warps"] = array.shape[1]
    array, active = _three_dimensions(array), None if active is None else _three_dimensions(active)
    warps, instructions, lanes = array.shape
    params["warps"] = params["warps"] or min(8, warps)
    params["ctas"] = -(-warps // params["warps"])
    if ctas is not None and _number("ctas", ctas, 1, _MOST_CTAS) != params["ctas"]:
        raise InputError(f"ctas is {ctas}, but the array has {warps} warps, which make {params['ctas']} CTAs; leave ctas out")
    _number("the number of instructions per warp", instructions, 1, _MOST_INSTRUCTIONS)
    _number("the number of CTAs", params["ctas"], 1, _MOST_CTAS)
    params["instructions"] = instructions
    params["write"], params["compute"] = _flags(write, instructions), _counts(compute, instructions)
    if params["space"] == _SPACES["shared"]:
        needed = _highest(array, active) + params["size"]
        if shared_bytes is None:
            params["shared_bytes"] = needed
        elif shared_bytes < needed:
            raise InputError(f"shared_bytes is {shared_bytes}, but the addresses reach {needed} bytes")
    arithmetic = sum(params["compute"]) * (instructions if len(params["compute"]) == 1 else 1)
    text = f"{instructions} {_kinds(params, instructions)} of {lanes} lane{'s' if lanes != 1 else ''} x {params['size']} bytes per warp"
    return Kernel(_core.kernel_of_arrays(params, array, active), params, warps * (instructions + arithmetic), text)


def _of_function(function: Callable, mask: Any, write: Any, compute: Any, ctas: Any, params: dict) -> Kernel:
    if mask is not None:
        raise InputError("a function returns its masks: (addresses, mask) for each CTA; leave mask out")
    if ctas is None:
        raise InputError("a function needs the number of CTAs; add ctas=...")
    params["ctas"] = _number("ctas", ctas, 1, _MOST_CTAS)
    params["instructions"] = 0
    params["write"], params["compute"] = _flags(write, None), _counts(compute, None)

    def arrays(cta: int):
        return _arrays_of_cta(function, cta, params)

    if params["warps"] is None:
        params["warps"] = _number("the number of warps of CTA 0", arrays(0)[0].shape[0], 1, 32)
    text = f"{_kinds(params, 2)} of {params['size']} bytes, made by a function"
    return Kernel(_core.kernel_of_function(params, arrays), params, None, text)


def _arrays_of_cta(function: Callable, cta: int, params: dict):
    """What the function returns for a CTA, as the extension module takes it."""
    made, mask = function(cta), None
    if inspect.isgenerator(made):
        made = _stacked(made, cta)
    elif isinstance(made, tuple) and len(made) == 2:
        made, mask = made
    array, active = _checked(made, mask, params, f"the addresses of CTA {cta}", 3)
    return _three_dimensions(array), None if active is None else _three_dimensions(active)


def _stacked(instructions: Iterable, cta: int) -> np.ndarray:
    rows: list = []
    count = 0
    for row in instructions:
        row = _integers(row, f"instruction {len(rows)} of CTA {cta}")
        if row.ndim not in (1, 2) or row.size == 0 or (rows and rows[0].shape != row.shape):
            raise InputError(f"instruction {len(rows)} of CTA {cta} has the shape {row.shape}; yield arrays (warps, lanes) or (lanes,) "
                             "that all have the same shape")
        count += row.size
        if count > _MOST_COPIED:
            raise InputError(f"CTA {cta} yields more than {_MOST_COPIED} addresses; does it end?")
        rows.append(row)
    if not rows:
        raise InputError(f"CTA {cta} yields no instructions")
    return np.stack(rows, axis=-2)


def _integers(values: Any, what: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what} do not make an array: {error}") from None
    if array.dtype.kind not in "iu":
        why = {"f": "; convert them with .astype(np.int64)", "O": ", of one type and at most 64 bits"}.get(array.dtype.kind, "")
        raise InputError(f"{what} must be integers, not {array.dtype}{why}")
    return array


def _checked(values: Any, mask: Any, params: dict, what: str, most_dimensions: int):
    """Addresses as uint64 and the mask as bytes or None, both in C order."""
    if isinstance(values, np.ma.MaskedArray) and mask is None and values.mask is not np.ma.nomask:
        mask = ~np.ma.getmaskarray(values)
    array = _integers(values, what)
    shapes = ["(instructions, lanes)", "(warps, instructions, lanes)", "(ctas, warps, instructions, lanes)"][:most_dimensions - 1]
    if not 2 <= array.ndim <= most_dimensions:
        raise InputError(f"{what} have the shape {array.shape}; it must be {' or '.join(shapes)}")
    if array.shape[-1] > 32:
        raise InputError(f"{what} have {array.shape[-1]} lanes (the last dimension of {array.shape}), but a warp has at most 32; "
                         "reshape them to (..., 32)")
    active = None
    if mask is not None:
        active = np.asarray(mask)
        if active.dtype != np.bool_:
            raise InputError(f"the mask must be an array of bool, not {active.dtype}")
        if active.shape != array.shape:
            raise InputError(f"the mask has the shape {active.shape}, but {what} have {array.shape}")
        active = _in_place(active, np.bool_, "the mask")
    array = _in_place(array, np.int64 if array.dtype.kind == "i" else np.uint64, what).view(np.uint64)
    _check_values(array, active, params, what)
    return array, None if active is None else active.view(np.uint8)


def _in_place(array: np.ndarray, dtype: Any, what: str) -> np.ndarray:
    if (array.dtype != dtype or not array.flags.c_contiguous) and array.size > _MOST_COPIED:
        raise InputError(f"{what} are {array.size} values of {array.dtype} that would have to be copied; pass them in C order, "
                         "addresses as int64 or uint64")
    return np.ascontiguousarray(array, dtype=dtype)


def _check_values(array: np.ndarray, active: Optional[np.ndarray], params: dict, what: str) -> None:
    """All bits that any address has tell whether all are in range and aligned, in one pass."""
    where: Any = True if active is None else active
    bits = int(np.bitwise_or.reduce(array, axis=None, where=where, initial=np.uint64(0)))
    in_shared = params["space"] == _SPACES["shared"]
    most = _SHARED_BYTES if in_shared else 1 << _ADDRESS_BITS
    if bits < most and bits % params["size"] == 0:
        return
    wrong = (array >= most) | (array % params["size"] != 0)
    if active is not None:
        wrong &= active
    place = np.unravel_index(int(np.argmax(wrong)), array.shape)
    value = int(array[place])
    at = f"[{', '.join(str(int(i)) for i in place)}]"
    if value >= most:
        value = value - (1 << 64) if value >> 63 else value
        limit = "1 MiB of shared memory" if in_shared else f"2^{_ADDRESS_BITS}"
        raise InputError(f"{what}{at} is {value}; addresses must be from 0 to below {limit}")
    raise InputError(f"{what}{at} is {value}, not a multiple of size={params['size']}; addresses are in bytes: multiply an index by "
                     "the size of its element")


def _highest(array: np.ndarray, active: Optional[np.ndarray]) -> int:
    where: Any = True if active is None else active.view(np.bool_)
    return int(np.max(array, where=where, initial=np.uint64(0)))


def _three_dimensions(array: np.ndarray) -> np.ndarray:
    return array.reshape((-1,) + array.shape[-2:]) if array.ndim == 4 else array.reshape((1,) * (3 - array.ndim) + array.shape)


def _kinds(params: dict, accesses: int) -> str:
    kinds = {bool(one) for one in params["write"]}
    word = "accesses" if len(kinds) == 2 else "stores" if True in kinds else "loads"
    if accesses == 1:
        word = {"accesses": "access"}.get(word, word[:-1])
    return word


def _number(name: str, value: Any, least: int, most: int) -> int:
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {value!r:.80}") from None
    if not least <= number <= most:
        raise InputError(f"{name} is {number:.6g}; it must be from {least} to {most}" if abs(number) > 1 << 64 else
                         f"{name} is {number}; it must be from {least} to {most}")
    return number


def _name(name: Any) -> str:
    if not isinstance(name, str) or not 1 <= len(name) <= 200 or not name.isprintable():
        raise InputError(f"a name is a text of 1 to 200 printable characters, not {name!r:.80}")
    return name


def _per_instruction(what: str, values: Any, instructions: Optional[int], kinds: str) -> list:
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what} does not make an array: {error}") from None
    if array.dtype.kind not in kinds:
        raise InputError(f"{what} must be {'a bool' if kinds == 'b' else 'a whole number'} or one per instruction, not {array.dtype}")
    if array.ndim == 0:
        return [array.item()]
    if array.ndim != 1 or array.size == 0 or array.size > _MOST_COPIED or (instructions is not None and array.size != instructions):
        expected = "one element per instruction" if instructions is None else f"{instructions} elements, one per instruction"
        raise InputError(f"{what} has the shape {array.shape}; it must have {expected}")
    first = array[:1]
    return (first if (array == first).all() and instructions is not None else array).tolist()


def _flags(write: Any, instructions: Optional[int]) -> list:
    return _per_instruction("write", write, instructions, "b")


def _counts(compute: Any, instructions: Optional[int]) -> list:
    counts = _per_instruction("compute", compute, instructions, "iu")
    for count in (min(counts), max(counts)):
        _number("compute", count, 0, 1000)
    return counts
