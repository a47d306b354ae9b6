# SPDX-License-Identifier: MIT
"""What a search has found: frames, text, JSON, CSV and a page."""

from __future__ import annotations

import functools
import html
import json
import os
import pathlib
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import InputError
from ._search_plan import Plan
from ._search_work import Studies, answers, costs_of, feasible, fronts

if TYPE_CHECKING:
    import pandas

__all__ = ["SearchResult"]


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


class SearchResult:
    """What a search has simulated and found.

    trials: a frame with a row for each point of each level: level, trial, state, the value of each dimension, objectives, measures, whether it is
        feasible, and whether it is on the Pareto front of its level.
    """

    def __init__(self, plan: Plan, studies: Studies) -> None:
        self._plan = plan
        self._levels = [[t for t in studies.trials(level) if "exhausted" not in t.user_attrs] for level in range(len(plan.levels))]
        self._exhausted = any("exhausted" in t.user_attrs for t in studies.trials(0))
        self._baselines = [studies.baseline(level) for level in range(len(plan.levels))]
        self._rows = [self._row(level, trial) for level, trials in enumerate(self._levels) for trial in trials]
        for level, trials in enumerate(self._levels):
            possible = [t for t in trials if feasible(t)]
            best = {t.number for t, rank in zip(possible, fronts([costs_of(plan, t) for t in possible])) if rank == 0}
            for row in self._rows:
                if row["level"] == level + 1:
                    row["pareto"] = row["trial"] in best

    @property
    def _columns(self) -> list[str]:
        """Objectives and measures."""
        return list(dict.fromkeys([*(text for _, text, _ in self._plan.objectives), *self._plan.measure_names]))

    def _row(self, level: int, trial: Any) -> dict[str, Any]:
        point = trial.user_attrs.get("point") or trial.system_attrs.get("fixed_params")
        row: dict[str, Any] = {"level": level + 1, "trial": trial.number, "state": trial.state.name.lower(), "from": trial.user_attrs.get("from")}
        row.update(self._plan.labels(point) if point else {d.name: None for d in self._plan.dimensions})
        row.update(dict.fromkeys(self._columns))
        row.update(trial.user_attrs.get("measures", {}))
        if trial.values is not None:
            row.update({text: value for (_, text, _), value in zip(self._plan.objectives, trial.values)})
        row.update({"feasible": feasible(trial), "pareto": False, "failed": trial.user_attrs.get("failed", "")})
        return row

    # ---- frames

    @functools.cached_property
    def trials(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(self._rows)

    @property
    def _last(self) -> int:
        """The last level with finished points."""
        return max((level for level, trials in enumerate(self._levels) if any(t.values is not None for t in trials)), default=0)

    def _front_rows(self) -> list[dict[str, Any]]:
        word, text, _ = self._plan.objectives[0]
        rows = [row for row in self._rows if row["level"] == self._last + 1 and row["pareto"]]
        return sorted(rows, key=lambda row: (-row[text] if word == "maximize" else row[text], row["trial"]))

    @property
    def front(self) -> pandas.DataFrame:
        """The Pareto front of the last level."""
        import pandas

        return pandas.DataFrame(self._front_rows(), columns=["trial", *(d.name for d in self._plan.dimensions), *self._columns])

    def _best_rows(self) -> list[dict[str, Any]]:
        titles = [best.title for best in self._plan.best] or [f"{self._plan.objectives[0][0]} {self._plan.objectives[0][1]}"]
        rows = []
        for title, found in zip(titles, answers(self._plan, self._levels[self._last])):
            row = self._row(self._last, found[0]) if found else {}
            rows.append({"best": title, "overrides": " ".join(self._plan.overrides(found[0].user_attrs["point"])) if found else None,
                         **{name: row.get(name) for name in ("level", "trial", *(d.name for d in self._plan.dimensions), *self._columns)}})
        return rows

    @property
    def best(self) -> pandas.DataFrame:
        """The best point of the last level, a row for each [[best]] of the search."""
        import pandas

        return pandas.DataFrame(self._best_rows())

    # ---- for people

    def _level_lines(self) -> list[str]:
        lines = []
        for number, (level, trials) in enumerate(zip(self._plan.levels, self._levels), 1):
            done = [t for t in trials if t.state.name in ("COMPLETE", "FAIL")]
            failed = sum(t.state.name == "FAIL" for t in trials)
            wanted = level.points if number == 1 else len(trials)
            lines.append(f"level {number}: {level.size}, {', '.join(name for name, _ in level.workloads)}: {len(done)} of {wanted} points simulated, "
                         f"{sum(map(feasible, trials))} feasible" + (f", {failed} failed" if failed else "")
                         + ("; no further point is possible" if number == 1 and self._exhausted else ""))
        return lines

    @property
    def summary(self) -> str:
        """Levels, the Pareto front, and the best points as text."""
        plan = self._plan
        goals = ", ".join(f"{word} {text}" for word, text, _ in plan.objectives)
        lines = [f"{plan.title}: {plan.points:,} points on {pathlib.PurePath(plan.machine).name}; {goals}", *self._level_lines()]
        lines += [f"constraint: {bound.text}" for bound in plan.constraints]
        lines += [f"note: {note}" for note in plan.notes()]
        rows = self._front_rows()
        lines += ["", f"Pareto front at level {self._last + 1}, {len(rows)} points" if rows else "no feasible point yet"]
        if rows:
            names = ["trial", *self._columns, *(d.name for d in plan.dimensions)]
            table = [names, *([_number(row[name]) for name in names] for row in rows)]
            if (base := self._baselines[self._last]) is not None:
                table.append(["base", *(_number(base[name]) for name in self._columns), *("" for _ in plan.dimensions)])
            widths = [max(len(line[i]) for line in table) for i in range(len(names))]
            lines += ["  ".join(field.rjust(width) for field, width in zip(line, widths)) for line in table]
        for number, row in enumerate(self._best_rows()):
            lines += ["", f"best: {row['best']}"]
            if row["trial"] is None:
                lines.append("  no point meets it")
                continue
            lines.append("  " + ", ".join(f"{name} {_number(row[name])}" for name in self._columns))
            lines += self._earlier(row)
            objective = plan.best[number].objective if plan.best else 0
            word, text, _ = plan.objectives[objective]
            base = self._baselines[self._last]
            if base is not None and (base[text] > row[text] if word == "maximize" else base[text] < row[text]):
                lines.append(f"  the baseline is better: {text} {_number(base[text])}")
            lines.append(f"  {row['overrides']}")
        return "\n".join(lines) + "\n"

    def _earlier(self, row: dict[str, Any]) -> list[str]:
        """What the levels before said about a point of the last one."""
        lines = []
        level, number = row["level"], row["trial"]
        while level > 1:
            number = next(int(one["from"]) for one in self._rows if one["level"] == level and one["trial"] == number)
            level -= 1
            before = next(one for one in self._rows if one["level"] == level and one["trial"] == number)
            lines.append(f"  at level {level}: " + ", ".join(f"{name} {_number(before[name])}" for name in self._columns))
        return lines

    @property
    def json(self) -> dict[str, Any]:
        plan = self._plan
        levels = [{"size": level.size, "workloads": [name for name, _ in level.workloads], "points": level.points,
                   "simulated": sum(t.state.name in ("COMPLETE", "FAIL") for t in trials)} for level, trials in zip(plan.levels, self._levels)]
        return {"schema": 1, "title": plan.title, "version": _core.version, "machine": plan.machine, "sampler": plan.sampler, "seed": plan.seed,
                "points": plan.points, "objectives": [f"{word} {text}" for word, text, _ in plan.objectives],
                "constraints": [bound.text for bound in plan.constraints], "levels": levels, "baselines": self._baselines, "front": self._front_rows(), "best": self._best_rows(),
                "trials": self._rows}

    def page(self) -> str:
        """One HTML page with the chart and the tables, without scripts."""
        return _page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file: .json, .csv (all trials), .html (the page) or .txt (the summary)."""
        kind = pathlib.PurePath(path).suffix
        writers = {".json": lambda: json.dumps(self.json, indent=1) + "\n", ".csv": lambda: self.trials.to_csv(index=False), ".html": self.page,
                   ".txt": lambda: self.summary}
        if kind not in writers:
            raise InputError(f"'{os.fspath(path)}' has an unknown ending; use .json, .csv, .html or .txt")
        _core.write_file(os.fspath(path), writers[kind]())

    def _repr_html_(self) -> str:
        return _chart(self)

    def __repr__(self) -> str:
        return f"<SearchResult: {self._plan.title}, {sum(map(len, self._levels))} trials, {len(self._front_rows())} on the Pareto front>"


# ---- the page

_STYLE = """:root { color-scheme: light dark; --ink: #1d1d1f; --soft: #8a8f98; --line: #d9dce1; --back: #fff; --mark: #1565c0; --past: #b9c3d0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8ea; --soft: #8e949e; --line: #3a3f47; --back: #16181c; --mark: #64a8f0; --past: #4b5563; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; } .wide { overflow-x: auto; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right; } th { color: var(--soft); font-weight: 600; }
svg { max-width: 100%; height: auto; } pre { overflow-x: auto; }
"""
_CHART_STYLE = """<style>text { font: 12px system-ui, sans-serif; fill: var(--ink, #333); } .axis { stroke: var(--line, #bbb); } .past { fill: var(--past, #b9c3d0); }
.front { fill: var(--mark, #1565c0); } .stairs { fill: none; stroke: var(--mark, #1565c0); stroke-width: 1.5; } .soft { fill: var(--soft, #777); }</style>"""
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _RIGHT, _TOP = 720, 420, 80, 50, 20, 20


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers."""
    step = 10.0 ** len(str(int(1e9 * (high - low) / 5))) / 1e10
    step = next(s for s in (step, 2 * step, 5 * step, 10 * step) if (high - low) / s <= 6)
    first = int(low / step) - 1
    return [round(i * step, 10) for i in range(first, first + 12) if low <= i * step <= high]


def _scale(values: list[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _points(result: SearchResult) -> tuple[str, str, list[tuple[float, float, dict[str, Any]]]]:
    """The last level with the second objective across and the first upwards; with one objective: trial by trial."""
    plan = result._plan
    rows = [row for row in result._rows if row["level"] == result._last + 1 and row["state"] == "complete" and row["feasible"]]
    _, up, _ = plan.objectives[0]
    across = plan.objectives[1][1] if len(plan.objectives) > 1 else "trial"
    return across, up, [(float(row[across]), float(row[up]), row) for row in rows]


def _chart(result: SearchResult) -> str:
    across, up, points = _points(result)
    if not points:
        return "<p>No feasible point yet.</p>"
    (left, right), (low, high) = _scale([x for x, _, _ in points]), _scale([y for _, y, _ in points])
    x_of = lambda x: _LEFT + (x - left) / (right - left) * (_WIDTH - _LEFT - _RIGHT)  # noqa: E731
    y_of = lambda y: _HEIGHT - _BOTTOM - (y - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)  # noqa: E731
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(up)} over {html.escape(across)}" xmlns="http://www.w3.org/2000/svg">', _CHART_STYLE]
    for tick in _ticks(left, right):
        parts.append(f'<line class="axis" x1="{x_of(tick):.1f}" x2="{x_of(tick):.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
                     f'<text class="soft" x="{x_of(tick):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    for tick in _ticks(low, high):
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y_of(tick):.1f}" y2="{y_of(tick):.1f}"/>'
                     f'<text class="soft" x="{_LEFT - 8}" y="{y_of(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    parts.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 10}" text-anchor="middle">{html.escape(across)}</text>'
                 f'<text transform="translate(18 {_HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">{html.escape(up)}</text>')
    front = sorted((x, y) for x, y, row in points if row["pareto"])
    if len(result._plan.objectives) > 1 and front:
        parts.append('<path class="stairs" d="M' + " L".join(f"{x_of(x):.1f} {y_of(y):.1f}" for x, y in _stairs(front, result)) + '"/>')
    for x, y, row in sorted(points, key=lambda point: point[2]["pareto"]):
        what = ", ".join(f"{name}={row[name]}" for name in (d.name for d in result._plan.dimensions))
        parts.append(f'<circle class="{"front" if row["pareto"] else "past"}" cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="{5 if row["pareto"] else 3.5}">'
                     f'<title>{html.escape(_tip(row, up, across, x, y, what))}</title></circle>')
    return "".join([*parts, "</svg>"])


def _tip(row: dict[str, Any], up: str, across: str, x: float, y: float, what: str) -> str:
    return f"trial {row['trial']}: {up} {_number(y)}, {across} {_number(x)}; {what}"


def _stairs(front: list[tuple[float, float]], result: SearchResult) -> list[tuple[float, float]]:
    """Between neighbours of the front, the corner that one of them already reaches."""
    up, across = (result._plan.objectives[i][0] for i in (0, 1))
    steps = [front[0]]
    for (x, y), (further, other) in zip(front, front[1:]):
        steps += [(further, y) if across == "minimize" else (x, other), (further, other)]
    return steps


def _table(names: list[str], rows: list[dict[str, Any]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_number(row[name]) if row[name] is not None else '')}</td>" for name in names) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _page(result: SearchResult) -> str:
    plan = result._plan
    dimensions = [d.name for d in plan.dimensions]
    goals = ", ".join(f"{word} {text}" for word, text, _ in plan.objectives)
    facts = "".join(f"<li>{html.escape(line)}</li>" for line in [*result._level_lines(), *(f"constraint: {bound.text}" for bound in plan.constraints)])
    return (f"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
            f"<title>{html.escape(plan.title)}</title><style>{_STYLE}</style></head><body>\n"
            f"<h1>{html.escape(plan.title)}</h1><p>{plan.points:,} points on {html.escape(plan.machine)}; {html.escape(goals)}.</p><ul>{facts}</ul>\n"
            f"<h2>Points of level {result._last + 1}</h2>{_chart(result)}\n<h2>Pareto front</h2>{_table(['trial', *result._columns, *dimensions], result._front_rows())}\n"
            f"<h2>Best</h2>{_table(['best', 'trial', *result._columns, *dimensions], result._best_rows())}\n"
            f"<p>Mergelane {html.escape(_core.version)}, sampler {plan.sampler}, seed {plan.seed}.</p></body></html>\n")
