# SPDX-License-Identifier: MIT
"""A picture in numbered steps, one below the other, for light and dark."""
import html

WIDTH = 440  # narrow, so that texts stay readable on a phone
MARGIN = 10

# Grounds and inks of the light and the dark scheme. Boxes have one colour in both, with the same dark text.
SCHEMES = {"light": {"ground": "#ffffff", "panel": "#f1f4f8", "ink": "#1b1f24", "soft": "#525a63", "line": "#8b949e", "badge": "#3949ab"},
           "dark": {"ground": "#161b22", "panel": "#222a34", "ink": "#e6edf3", "soft": "#b3bdc8", "line": "#7d8894", "badge": "#3949ab"}}
BOXES = ["#8ecae6", "#ffc24b", "#95d5b2", "#f4a3a0", "#cdb4db", "#f3e37c", "#c3c9d0", "#f2b5e5", "#b8c0ff", "#dcb48c"]
ON_BOX, ON_BADGE = "#111418", "#ffffff"


def darker(colour):
    return "#" + "".join(f"{int(colour[i:i + 2], 16) * 58 // 100:02x}" for i in (1, 3, 5))


def style():
    lines = {"light": "".join(f".l{n}{{stroke:{darker(c)}}}" for n, c in enumerate(BOXES)), "dark": "".join(f".l{n}{{stroke:{c}}}" for n, c in enumerate(BOXES))}

    def rules(c):
        return (f".ground{{fill:{c['ground']}}}.panel{{fill:{c['panel']}}}.ink{{fill:{c['ink']}}}.soft{{fill:{c['soft']}}}.badge{{fill:{c['badge']}}}"
                f".rule{{stroke:{c['line']};fill:none}}.ghost{{stroke:{c['soft']};fill:none;stroke-dasharray:3 2}}.frame{{stroke:{c['ink']};fill:none}}")
    return (f"{rules(SCHEMES['light'])}{lines['light']}.box{{fill:{ON_BOX}}}.on{{fill:{ON_BADGE}}}"
            f"@media(prefers-color-scheme:dark){{{rules(SCHEMES['dark'])}{lines['dark']}}}")


def contrast(a, b):
    def luminance(colour):
        parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(p * w for p, w in zip(linear, (0.2126, 0.7152, 0.0722)))
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def poor_contrasts():
    pairs = [(c[ink], c[ground]) for c in SCHEMES.values() for ink in ("ink", "soft") for ground in ("ground", "panel")]
    pairs += [(ON_BOX, box) for box in BOXES] + [(ON_BADGE, c["badge"]) for c in SCHEMES.values()]
    lines = [(darker(box), SCHEMES["light"]["panel"]) for box in BOXES] + [(box, SCHEMES["dark"]["panel"]) for box in BOXES]
    return [f"{a} on {b}: {contrast(a, b):.2f}" for a, b in pairs if contrast(a, b) < 4.5] + [f"line {a} on {b}: {contrast(a, b):.2f}" for a, b in lines if contrast(a, b) < 3]


def number(value):
    return f"{value:.1f}".rstrip("0").rstrip(".")


class Svg:
    """A picture that grows downwards: `y` is where the next part begins."""

    def __init__(self, title):
        self.title, self.y, self.parts, self.steps = title, 27, [], 0
        self.text(MARGIN, self.y, title, size=16, bold=True)
        self.y += 6

    def text(self, x, y, words, size=12, kind="ink", anchor="start", bold=False):
        more = (f' text-anchor="{anchor}"' if anchor != "start" else "") + (' font-weight="700"' if bold else "") + (f' font-size="{number(size)}"' if size != 12 else "")
        self.parts.append(f'<text x="{number(x)}" y="{number(y)}" class="{kind}"{more}>{html.escape(words)}</text>')

    def rect(self, x, y, width, height, kind="", fill=None, radius=3):
        look = f'fill="{fill}"' if fill else f'class="{kind}"'
        self.parts.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{radius}" {look}/>')

    def line(self, x1, y1, x2, y2, kind="rule", width=1):
        self.parts.append(f'<path d="M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}" class="{kind}" stroke-width="{number(width)}"/>')

    def lead(self, x1, y1, x2, y2, which):
        """Where a request goes, in the colour of its box."""
        self.line(x1, y1, x2, y2, kind=f"l{which % len(BOXES)}", width=1.8)

    def box(self, x, y, width, height, words, which):
        """A request: centred at x, below y."""
        self.rect(x - width / 2, y, width, height, fill=BOXES[which % len(BOXES)])
        self.text(x, y + height / 2 + 4.2, str(words), kind="box", anchor="middle", bold=True)

    def ghost(self, x, y, width, height, words):
        """A request that goes no further."""
        self.rect(x - width / 2 + 0.5, y + 0.5, width - 1, height - 1, "ghost")
        self.text(x, y + height / 2 + 4.2, str(words), kind="soft", anchor="middle")

    def prose(self, words, kind="soft", x=MARGIN, gap=4):
        """A paragraph, wrapped."""
        self.y += gap
        line = ""
        for word in words.split() + [None]:
            if word is None or len(line) + len(word) + 1 > (WIDTH - MARGIN - x) / 6.2:
                self.y += 15.5
                self.text(x, self.y, line, kind=kind)
                line = word or ""
            else:
                line = f"{line} {word}".strip()
        self.y += 4

    def step(self, words):
        """What the next part shows, with its number."""
        self.steps += 1
        self.y += 8
        self.parts.append(f'<circle cx="{MARGIN + 9}" cy="{number(self.y + 15)}" r="9" class="badge"/>')
        self.text(MARGIN + 9, self.y + 19.2, str(self.steps), kind="on", anchor="middle", bold=True)
        self.prose(words, kind="ink", x=MARGIN + 26, gap=3)

    def panel(self, height):
        self.y += 4
        self.rect(4, self.y, WIDTH - 8, height, "panel", radius=6)
        top = self.y
        self.y += height
        return top

    def done(self, description):
        height = number(self.y + 10)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="t d" width="560" viewBox="0 0 {WIDTH} {height}" '
                f'font-family="-apple-system, \'Segoe UI\', Roboto, \'DejaVu Sans\', Arial, sans-serif" font-size="12">\n<title id="t">{html.escape(self.title)}</title>\n'
                f'<desc id="d">{html.escape(description)}</desc>\n<style>{style()}</style>\n<rect width="{WIDTH}" height="{height}" class="ground" rx="8"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")
