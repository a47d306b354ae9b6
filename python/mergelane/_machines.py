# SPDX-License-Identifier: MIT
"""Machines as objects, and what can be named: presets and workloads."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import InputError
from ._running import Settings, UnknownName, _path, _settings, _text

if TYPE_CHECKING:
    import pandas

__all__ = ["Machine", "machines", "workloads"]


class UnknownAttribute(AttributeError, InputError):  # type: ignore[misc]
    """A section or key of this name does not exist; says which one was probably meant."""


@functools.lru_cache(maxsize=None)
def _keys() -> dict[str, tuple[str, str, Any, Any]]:
    """Of every configuration key: unit, meaning, what it may be, default."""
    return _core.keys()


@functools.lru_cache(maxsize=None)
def _sections() -> frozenset[str]:
    """"cluster" and "cluster.icc" of "cluster.icc.enabled"."""
    found = set()
    for key in _keys():
        while "." in key:
            key = key.rpartition(".")[0]
            found.add(key)
    return frozenset(found)


def _members(path: str) -> list[str]:
    """What follows `path` in keys and sections: "size_kib" after "l1."."""
    rests = (name[len(path):] for name in [*_keys(), *_sections()] if name.startswith(path))
    return sorted({rest.partition(".")[0] for rest in rests if rest})


class _Section:
    """Keys of a machine that begin alike: `machine.l1`. Its attributes are keys and further sections."""

    def __init__(self, machine: Machine, path: str) -> None:
        object.__setattr__(self, "_machine", machine)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by Python itself, for example by copy()
            raise AttributeError(name)
        return self._machine._attribute(f"{self._path}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        self._machine._assign(f"{self._path}.{name}", value)

    def __dir__(self) -> list[str]:
        return _members(self._path + ".")

    def __repr__(self) -> str:
        keys = [key for key in _keys() if key.startswith(self._path + ".")]
        width = max(len(key) for key in keys)
        return "\n".join(f"{key:<{width}}  {self._machine[key]} {_keys()[key][0]}".rstrip() for key in keys)


class Machine:
    """A machine whose configuration keys are attributes. Every change is checked.

    >>> import mergelane
    >>> machine = mergelane.Machine("icc60")
    >>> machine.l1.size_kib
    48
    >>> machine.l1.size_kib = 64
    >>> machine["l1.size_kib"]
    64
    >>> machine.l1.siz_kib
    Traceback (most recent call last):
        ...
    mergelane.UnknownAttribute: unknown key 'l1.siz_kib'; did you mean 'l1.size_kib'?
    >>> machine
    <Machine icc60: l1.size_kib = 64>

    Keys that only make sense together are changed together: `machine.set({...})`, or `machine.with_({...})` for a changed copy.
    """

    def __init__(self, gpu: Any, set: Settings | None = None) -> None:
        if isinstance(gpu, Machine):
            self._load(gpu._gpu, {**gpu._overrides, **_assignments(set)})
        else:
            self._load(_path("gpu", gpu), _assignments(set))

    def _load(self, gpu: str, overrides: dict[str, str]) -> None:
        data = _core.machine(gpu, [f"{key}={value}" for key, value in overrides.items()])
        self._gpu, self._overrides, self._data = gpu, overrides, data

    # Keys.

    def _attribute(self, name: str) -> Any:
        if name in self._data["values"]:
            return self._data["values"][name][0]
        if name in _sections():
            return _Section(self, name)
        raise UnknownAttribute(_unknown(name))

    def _assign(self, key: str, value: Any) -> None:
        if key in _sections():
            raise UnknownAttribute(f"{key} is a section; set one of its keys, for example {next(k for k in _keys() if k.startswith(key + '.'))}")
        if key not in _keys():
            raise UnknownAttribute(_unknown(key))
        self.set({key: value})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._attribute(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            self._assign(name, value)

    def __getitem__(self, key: str) -> Any:
        try:
            return self._attribute(_text("a key", key))
        except UnknownAttribute as error:
            raise UnknownName(str(error)) from None

    def __setitem__(self, key: str, value: Any) -> None:
        self.set({key: value})

    def __contains__(self, key: object) -> bool:
        return key in _keys()

    def __iter__(self) -> Iterator[str]:
        return iter(_keys())

    def __len__(self) -> int:
        return len(_keys())

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_members("")})

    def keys(self) -> list[str]:
        """All configuration keys."""
        return list(_keys())

    def set(self, changes: Settings) -> None:
        """Change several keys at once, as a mapping or a list of "key=value"."""
        self._load(self._gpu, {**self._overrides, **_assignments(changes)})

    def with_(self, changes: Settings) -> Machine:
        """A copy with these changes."""
        return Machine(self, changes)

    def meaning(self, key: str) -> str:
        """What a key means, with its unit and what it may be.

        >>> import mergelane
        >>> mergelane.Machine("icc60").meaning("l1.ways")
        'associativity at size_kib (1 to 1024 ways)'
        """
        if key not in _keys():
            raise UnknownName(_unknown(_text("a key", key)))
        unit, meaning, allowed, _ = _keys()[key]
        if isinstance(allowed, tuple):
            return f"{meaning} ({allowed[0]} to {allowed[1]}{' ' + unit if unit else ''})"
        if allowed is None:
            return meaning
        return f"{meaning} ({', '.join(str(choice).lower() if isinstance(choice, bool) else choice for choice in allowed)})"

    # The machine as a whole.

    @property
    def name(self) -> str:
        return self._data["name"]

    @property
    def description(self) -> str:
        return self._data["description"]

    @property
    def source(self) -> str:
        """The hardware or paper that the machine models."""
        return self._data["source"]

    @property
    def validated(self) -> str:
        """What it was compared with, and how well it did."""
        return self._data["validated"]

    @property
    def config_hash(self) -> str:
        """A hash of all values that matter: equal for machines that behave alike."""
        return self._data["config_hash"]

    @property
    def changes(self) -> dict[str, Any]:
        """What was changed in the preset or file."""
        return {key: self[key] for key in self._overrides}

    @property
    def derived(self) -> dict[str, str]:
        """Totals that follow from the values, such as the bandwidth of the DRAM."""
        return {name: f"{value} {unit}".rstrip() for name, (value, unit) in self._data["derived"].items()}

    def to_frame(self) -> pandas.DataFrame:
        """All keys with value, unit and meaning. Inactive keys belong to mechanisms that are off."""
        import pandas

        rows = [(key, value, _keys()[key][0], active, _keys()[key][1]) for key, (value, active) in self._data["values"].items()]
        return pandas.DataFrame(rows, columns=["key", "value", "unit", "active", "meaning"]).set_index("key")

    def diff(self, other: Any) -> pandas.DataFrame:
        """The keys in which two machines differ.

        >>> import mergelane
        >>> machine = mergelane.Machine("icc60")
        >>> machine.diff(machine.with_({"l1.size_kib": 64}))
                    icc60  icc60 (2) unit
        key
        l1.size_kib    48         64  KiB
        """
        import pandas

        if not isinstance(other, Machine):
            other = Machine(other)
        mine, theirs = self._data["values"], other._data["values"]
        rows = [(key, mine[key][0], theirs[key][0], _keys()[key][0]) for key in _keys() if mine[key][0] != theirs[key][0]]
        second = other.name if other.name != self.name else f"{other.name} (2)"
        return pandas.DataFrame(rows, columns=["key", self.name, second, "unit"]).set_index("key")

    def to_toml(self, *, complete: bool = False) -> str:
        """The machine as a configuration file: its changes of a preset, or all values."""
        head = [f"description = {json.dumps(self.description)}"]
        values = {key: value for key, (value, _) in self._data["values"].items()}
        if complete:
            head.append(f"source = {json.dumps(self.source)}")
        else:
            base = os.path.abspath(self._gpu) if self._gpu.endswith(".toml") or os.sep in self._gpu else self._gpu
            head.append(f"base = {json.dumps(base, ensure_ascii=False)}")
            values = {key: values[key] for key in self._overrides}
        sections: dict[str, list[str]] = {}
        for key, value in values.items():
            section, _, name = key.rpartition(".")
            sections.setdefault(section, []).append(f"{name} = {json.dumps(value)}")
        return "\n".join([*head, *(line for name, lines in sections.items() for line in ("", f"[{name}]", *lines))]) + "\n"

    def save(self, path: str | os.PathLike[str], *, complete: bool = False) -> None:
        """Write to_toml() to a file, which `run` and the command take as a machine."""
        text = os.fspath(path)
        if not text.endswith(".toml"):
            raise InputError(f"'{text[:80]}' is not the name of a machine; let it end with .toml")
        _core.write_file(text, self.to_toml(complete=complete))

    def __eq__(self, other: object) -> bool:
        return self._data["values"] == other._data["values"] if isinstance(other, Machine) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        changes = [f"{key} = {self[key]}" for key in self._overrides]
        shown = ", ".join(changes[:3]) + (f" and {len(changes) - 3} more" if len(changes) > 3 else "")
        return f"<Machine {self.name}{': ' + shown if shown else ''}>"


def _unknown(key: str) -> str:
    """The message for a key that does not exist."""
    if not any(key.startswith(f"{section}.") for section in _sections()):
        return _core.unknown_word("section", key, sorted(section for section in _sections() if "." not in section))
    return _core.unknown_key(key)


def _assignments(settings: Settings | None) -> dict[str, str]:
    pairs = [entry.partition("=") for entry in _settings(settings)]
    for key, equals, _ in pairs:
        if not equals:
            raise InputError(f"'{key[:80]}' has no '='; write 'key=value', for example 'l1.size_kib=48'")
    return {key.strip(): value for key, _, value in pairs}


def machines() -> pandas.DataFrame:
    """All presets.

    >>> import mergelane
    >>> mergelane.machines().loc["icc60", "sms"]
    60
    """
    import pandas

    rows = []
    for name, description, path in _core.presets():
        row: dict[str, Any] = {"name": name, "description": description}
        try:
            machine = _core.machine(name, [])
            row["sms"] = int(machine["derived"]["SMs"][0])
            row["network_to_dram"] = float(machine["derived"]["network : DRAM bandwidth"][0])
            row["validated"] = machine["validated"]
        except InputError as error:  # whoever uses it is told; the others can still be listed
            row["validated"] = str(error)
        row["file"] = path
        rows.append(row)
    return pandas.DataFrame(rows).set_index("name")


def workloads() -> pandas.DataFrame:
    """All benchmarks and synthetic workloads: suite, the papers that use them, meaning.

    >>> import mergelane
    >>> mergelane.workloads().loc["hotspot", "suite"]
    'Rodinia'
    """
    import pandas

    return pandas.DataFrame(_core.workloads(), columns=["name", "suite", "papers", "meaning"]).set_index("name")
