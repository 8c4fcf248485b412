"""The page for labelling: keys to answer, and what the answers say so far. Values of the pool are only ever text."""

from __future__ import annotations

from .html import Html, document, tag

__all__ = ["label_page"]

_STYLE = """
body{-webkit-tap-highlight-color:transparent}
main{max-width:52rem}
#row{border:1px solid var(--line);border-radius:.6rem;padding:.9rem 1rem;margin:.8rem 0;min-height:9rem;
max-height:62vh;overflow:auto}
#row dl{display:grid;grid-template-columns:fit-content(45%) minmax(0,1fr);gap:.15rem 1rem;margin:0}
#row dt{color:var(--soft);overflow-wrap:anywhere}#row dd{margin:0;overflow-wrap:anywhere}
#row img{display:block;max-width:100%;max-height:22rem;margin:0 auto .6rem;image-rendering:auto}
#row .long{font-size:1.15rem;white-space:pre-wrap;overflow-wrap:anywhere}
#why{color:var(--soft);font-size:.85rem;min-height:1.3em}
.keys{display:flex;flex-wrap:wrap;gap:.5rem}
button{font:inherit;color:var(--ink);background:var(--shade);border:1px solid var(--line);border-radius:.5rem;
padding:.6rem .9rem;cursor:pointer;min-height:2.9rem}
button:hover,button:focus-visible{border-color:var(--blue);outline:2px solid var(--blue);outline-offset:1px}
button.answer{border-color:var(--blue);font-weight:600;flex:1 1 7rem}
button[disabled]{opacity:.5;cursor:default}
kbd{font:.75rem ui-monospace,monospace;color:var(--soft);border:1px solid var(--line);border-radius:.3rem;
padding:0 .35rem;margin-left:.4rem}
#say{min-height:1.5em;color:var(--warm)}
#advice{margin:1rem 0;padding:.6rem .9rem;border-left:4px solid var(--blue);background:var(--shade)}
#advice.enough{border-color:var(--green)}
ul{padding-left:1.1rem}li{margin:.3rem 0}li button{min-height:0;padding:.1rem .5rem;margin-left:.5rem}
"""

_SCRIPT = """
const me = document.body.dataset.me, home = document.body.dataset.home;
const at = id => document.getElementById(id);
function make(name, text, kind) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (kind) e.className = kind;
  return e;
}
const LOST = "The program does not answer: start it again, nothing that was answered is lost.";
let state = null, busy = false;

async function call(path, body) {
  if (busy) return;
  busy = true; buttons(true);
  try {
    const options = {method: "POST", headers: {"Content-Type": "application/json"},
      body: JSON.stringify({by: me, ...body})};
    const reply = await fetch(home + path, options), told = await reply.json();
    at("say").textContent = reply.ok ? told.said : told.error;
    if (reply.ok) { state = told; showQuestion(); showStanding(); }
  } catch (error) {
    at("say").textContent = LOST;
  } finally { busy = false; buttons(false); }
}
const shownRow = told => told.question === null ? null : told.question.row;
async function look() {  // what others answered and the model learned meanwhile; the question stays
  if (busy) return;
  try {
    const reply = await fetch(home + "state?as=" + encodeURIComponent(me)), told = await reply.json();
    if (!reply.ok) { at("say").textContent = told.error; return; }
    if (busy) return;
    const fresh = state === null || shownRow(state) !== shownRow(told);  // answered in another window
    if (at("say").textContent === LOST) at("say").textContent = "";
    state = told;
    if (fresh) showQuestion();
    showStanding();
  } catch (error) { at("say").textContent = LOST; }
}
function buttons(off) { for (const b of document.querySelectorAll("button")) b.disabled = off; }
const percent = p => (100 * p).toFixed(1) + " %";
const WHY = {gain: "asked because its label tells most", check: "a row at random, to measure the error",
  both: "somebody else has answered it, too", random: "a row at random, to begin with", again: "asked again"};

function showQuestion() {
  const q = state.question, row = at("row");
  row.replaceChildren();
  at("answers").replaceChildren();
  if (!q) {
    row.append(make("p", "There is nothing left to ask. Export the labels below."));
    at("why").textContent = "";
  } else {
    if (q.image) { const i = make("img"); i.alt = "row " + (q.row + 1); i.src = home + q.image; row.append(i); }
    if (q.text !== null && q.text !== undefined) row.append(make("p", q.text, "long"));
    const list = make("dl");
    for (const [name, value] of q.values) { list.append(make("dt", name));
      list.append(value === null ? make("dd", "empty", "soft") : make("dd", value)); }
    row.append(list);
    at("why").textContent = "row " + (q.row + 1) + ", " + WHY[q.why] +
      (q.bits === null ? "" : ", " + q.bits.toFixed(2) + " bits");
    state.keys.forEach(([label, keys], k) => {
      const b = make("button", label, "answer");
      for (const key of keys) b.append(make("kbd", key));
      b.dataset.label = k;
      b.onclick = () => call("answer", {row: q.row, label});
      at("answers").append(b);
    });
  }
}
function showStanding() {
  const s = state.standing;
  at("done").textContent = s.labels + " of " + s.pool;
  at("counts").textContent = Object.entries(s.counts).map(([name, n]) => name + " " + n).join(", ");
  at("error").textContent = !s.checks ? "-" : s.checks < 10 ? s.mistakes + " of " + s.checks
    : percent(s.mistakes / s.checks);
  at("bound").textContent = s.checks ? "at most " + percent(s.bound) + " at 95 %, by " + s.checks + " random rows"
    : "measured on random rows among the questions";
  at("expected").textContent = s.expected_error === null ? "-" : percent(s.expected_error);
  at("bits").textContent = s.next_bits === null ? "-" : s.next_bits.toFixed(2) + " bits";
  at("advice").textContent = s.advice.words;
  at("advice").className = s.advice.enough ? "enough" : "";
  const disputes = at("disputes");
  disputes.replaceChildren();
  at("agreement").textContent = !s.compared ? "No row has several answers yet."
    : s.disputed.length + " of " + s.compared + " rows with several answers are disputed";
  for (const d of s.disputed) {
    const said = Object.entries(d.said).map(([who, label]) => who + ": " + label).join(", ");
    const item = make("li", "row " + (d.row + 1) + " (" + said + ")");
    if (d.said[me] !== undefined) {
      const b = make("button", "look again");
      b.onclick = () => call("again", {row: d.row});
      item.append(b);
    }
    disputes.append(item);
  }
}
at("skip").onclick = () => state.question && call("skip", {row: state.question.row});
at("undo").onclick = () => call("undo", {});
at("export").onclick = () => call("export", {});
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || busy || !state) return;
  const key = event.key.toLowerCase();
  if (key === "s") at("skip").click();
  else if (key === "u") at("undo").click();
  else if (state.question) {
    const found = state.keys.findIndex(([_, keys]) => keys.includes(key));
    if (found >= 0) { event.preventDefault(); call("answer", {row: state.question.row, label: state.keys[found][0]}); }
  }
});
setInterval(look, 3000);
look();
"""


def label_page(pool: str, me: str, home: str, nonce: str) -> str:
    """The page of one person; `home` is the part of the address that holds the token."""

    def card(title: str, name: str, below: str = "", soft: str = "") -> Html:
        return tag(
            "div",
            title,
            tag("b", "-", id=name),
            tag("span", soft, class_="small", id=below or f"{name}-about"),
            class_="card",
        )

    inner = tag(
        "main",
        tag("h1", f"Label {pool}"),
        tag("p", f"You are {me}.", class_="soft small"),
        tag("div", "", id="row"),
        tag("p", "", id="why"),
        tag("div", "", id="answers", class_="keys"),
        tag("p", "", id="say", role="status"),
        tag(
            "div",
            tag("button", "skip", tag("kbd", "s"), id="skip"),
            tag("button", "undo", tag("kbd", "u"), id="undo"),
            tag("button", "export labels and model", id="export"),
            class_="keys",
        ),
        tag("p", "", id="advice"),
        tag(
            "div",
            card("labels", "done", "counts"),
            card("error, measured", "error", "bound"),
            card("error, expected by the model", "expected", soft="mean over the pool"),
            card("expected gain", "bits", soft="of the best next label"),
            class_="figures",
        ),
        tag("h2", "Where people disagree"),
        tag("p", "", id="agreement", class_="soft"),
        tag("ul", "", id="disputes"),
    )
    body = Html(str(tag("div", inner)))
    script = Html(f'<script nonce="{nonce}">{_SCRIPT}</script>')
    page = document(
        f"Label {pool}",
        body,
        policy=(
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; connect-src 'self'; "
            "img-src 'self' data:; base-uri 'none'; form-action 'none'"
        ),
        head=Html(f'<link rel="icon" href="data:,"><style>{_STYLE}</style>'),
        script=script,
    )
    attributes = str(tag("x", data_me=me, data_home=home))[2:-5]
    return page.replace("<body>", f"<body{attributes}>", 1)
