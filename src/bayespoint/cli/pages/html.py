"""HTML by small functions: whatever comes from data goes through `text`, and nothing else makes text of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["STYLE", "Html", "document", "figure", "section", "table", "tag", "text"]

STYLE = """
:root{--ink:#1c2430;--soft:#5b6675;--line:#dfe4ea;--paper:#fff;--shade:#f5f7fa;--blue:#0072b2;--warm:#b34700;
--green:#00795a}
@media (prefers-color-scheme:dark){:root{--ink:#e6ebf2;--soft:#9aa7b8;--line:#2d3644;--paper:#12171e;
--shade:#1a212b;
--blue:#58b6ec;--warm:#f0955c;--green:#4cc9a0}}
*{box-sizing:border-box}
body{margin:0;color:var(--ink);background:var(--paper);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.6rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;padding-top:.6rem;
border-top:1px solid var(--line)}
h1,h2,p{overflow-wrap:anywhere}p{margin:.4rem 0}.soft{color:var(--soft)}small,.small{font-size:.85rem}
code,.mono{font:.85rem ui-monospace,Menlo,Consolas,monospace}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.9rem}th,td{padding:.3rem 1.1rem .3rem 0;text-align:left;
vertical-align:top;
border-bottom:1px solid var(--line);overflow-wrap:break-word;max-width:22rem}th{color:var(--soft);font-weight:600;
white-space:nowrap}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;margin:1rem 0}
.card{background:var(--shade);border-radius:.5rem;padding:.7rem .9rem}.card b{display:block;font-size:1.45rem;
font-weight:650}
.card .small{color:var(--soft)}
.pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem}
figcaption{color:var(--soft);font-size:.85rem}figure{margin:0}
.pictures img{width:100%;height:auto;background:#fff;border:1px solid var(--line);border-radius:.4rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--shade);padding:.7rem;border-radius:.4rem;
font-size:.85rem}
@media print{body{font-size:10.5pt;background:#fff;color:#000}main{max-width:none;padding:0}h2{break-after:avoid}
.card,.pictures img,tr{break-inside:avoid}.scroll{overflow:visible}}
"""


class Html(str):
    """Text that is HTML already."""


def text(value: Any) -> Html:
    """Whatever it is, as text that a browser shows and does not obey."""
    return value if isinstance(value, Html) else Html(escape("" if value is None else str(value)))


def tag(name: str, *inner: Any, **attributes: Any) -> Html:
    """An element; attributes that end in an underscore are named without it."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{name}{listed}>{''.join(map(text, inner))}</{name}>")


def section(title: str, *inner: Any) -> Html:
    """A heading and what belongs to it."""
    return tag("section", tag("h2", title), *inner)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, numbers: Sequence[int] = ()) -> Html:
    """Rows under a head; columns of numbers stand to the right, and what is too wide can be scrolled."""
    kinds: list[dict[str, str]] = [{"class_": "n"} if j in numbers else {} for j in range(len(head))]
    top = tag("tr", *(tag("th", one, **kind) for one, kind in zip(head, kinds, strict=True)))
    lines = [tag("tr", *(tag("td", one, **kind) for one, kind in zip(row, kinds, strict=True))) for row in rows]
    return tag("div", tag("table", tag("thead", top), tag("tbody", *lines)), class_="scroll")


def figure(title: str, value: str, below: str = "") -> Html:
    """A number in large type."""
    return tag("div", title, tag("b", value), tag("span", below, class_="small"), class_="card")


def document(title: str, *inner: Any, policy: str, head: Html | str = "", script: Html | str = "") -> str:
    """A whole page that asks nothing of the network: its policy allows no more than it has."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>{head}</head>"
        f"<body>{''.join(map(text, inner))}{script}</body></html>\n"
    )
