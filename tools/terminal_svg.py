#!/usr/bin/env python3
"""Draws what a command printed as a picture for the README: terminal_svg.py 'COMMAND LINE SHOWN' <output.txt >picture.svg

Plain text in (the words of outcomes and verdicts and the table's head are coloured), SVG out.
"""
import html
import re
import sys

NO_BREAK_SPACE = "&#160;"  # renderers collapse plain ones
CELL_W, CELL_H, MARGIN = 7.8, 18, 16
COLOURS = [(r"\bsucceeded\b", "#7ec699"),
           (r"(?<!-)\b(failed|contaminated)\b", "#f08d8d"), (r"\bsuspect\b", "#e5c07b"), (r"^(EXPERIMENT|SLOT).*$", "#8ab4f8"), (r"^\$ .*$", "#ffffff")]


def spans(line):
    """The line as (text, colour) parts."""
    parts, at = [], 0
    found = sorted((m.start(), m.end(), colour) for pattern, colour in COLOURS for m in re.finditer(pattern, line))
    for start, end, colour in found:
        if start < at:
            continue
        parts += [(line[at:start], None), (line[start:end], colour)]
        at = end
    return parts + [(line[at:], None)]


def main():
    lines = [f"$ {sys.argv[1]}"] + [line.rstrip("\n") for line in sys.stdin]
    width = max(len(line) for line in lines) * CELL_W + 2 * MARGIN
    height = len(lines) * CELL_H + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
           f'<rect width="100%" height="100%" rx="8" fill="#1e1e1e"/>',
           '<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" fill="#d4d4d4" xml:space="preserve">']
    for row, line in enumerate(lines):
        x, y = MARGIN, MARGIN + (row + 0.75) * CELL_H
        for text, colour in spans(line):
            if text:
                fill = f' fill="{colour}"' if colour else ""
                out.append(f'<text x="{x:.1f}" y="{y:.1f}" textLength="{len(text) * CELL_W:.1f}"{fill}>{html.escape(text).replace(" ", NO_BREAK_SPACE)}</text>')
            x += len(text) * CELL_W
    print("\n".join(out + ["</g>", "</svg>"]))


if __name__ == "__main__":
    main()
