#!/usr/bin/env bash
# test_op_page.sh SOA  `soa op --explain --html`: pages well-formed and self-contained, sweeps as --explain says, patterns as
# --dense gives them and as the tree demands, input escaped, size bounded, an older file kept when writing fails.
set -u
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }
. "$(dirname "$0")/../support/lib.sh"
verb=op

cat >judge.py <<'END'
# judge.py SOA LIST : lines MODEL, STATE or -, EXPRESSION, the same as --explain takes it, PAGE, between tabs
import html.parser, json, subprocess, sys
soa, failures, memory = sys.argv[1], 0, {}
class Bad(Exception): pass
def need(ok, why):
    if not ok: raise Bad(why)
def soa_run(args, data=None): # the same question is asked once
    key = (tuple(args), data)
    if key not in memory:
        r = subprocess.run([soa] + args, input=data, capture_output=True, text=True)
        need(r.returncode == 0, "soa %s: %s" % (args, r.stderr))
        memory[key] = r.stdout
    return memory[key]
VOID = {"meta", "br"}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.all, self.ids, self.uses, self.cards, self.pre, self.result = [], [], set(), [], [], {}, []
    def handle_starttag(self, tag, attrs):
        need(len(dict(attrs)) == len(attrs), "an attribute twice in <%s>" % tag)
        a = dict(attrs)
        need(tag not in ("script", "link", "img", "iframe", "object", "base", "form"), "<%s>" % tag)
        for k, v in a.items():
            need(not k.startswith("on") and k not in ("src", "srcset", "action"), "attribute " + k)
            if k in ("href", "xlink:href"): need(v.startswith("#"), "leads outside: " + v); self.uses.append(v[1:])
            need("url(" not in (v or "") and "javascript:" not in (v or ""), "attribute %s=%s" % (k, v))
        if "id" in a: need(a["id"] not in self.ids, "id twice"); self.ids.add(a["id"])
        self.all.append((tag, a))
        if tag == "figure": self.cards.append((a, [], {}))
        if tag == "svg" and "data-rows" in a: self.cards[-1][2].update(a)
        if "data-row" in a: self.cards[-1][1].append((int(a["data-row"]), int(a["data-column"])))
        inside = any(b.get("id") == "result" for t, b in self.open)
        if inside and tag == "tr": self.result.append([])
        if inside and tag == "td": self.result[-1].append("")
        if tag not in VOID: self.open.append((tag, a))
    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID: self.open.pop()
    def handle_endtag(self, tag):
        need(self.open and self.open[-1][0] == tag, "</%s> closes %s" % (tag, self.open[-1:]))
        self.open.pop()
    def handle_data(self, data):
        for tag, a in self.open:
            if a.get("id"): self.pre[a["id"]] = self.pre.get(a["id"], "") + data
            if tag == "style": need("@import" not in data and "url(" not in data, "style from outside")
        if self.open and self.open[-1][0] == "td" and any(b.get("id") == "result" for t, b in self.open):
            self.result[-1][-1] += data
def judge(model, state, expression, plain, page):
    text = open(page, encoding="utf-8", errors="strict").read()
    p = Page(); p.feed(text); p.close()
    need(not p.open, "left open: %s" % p.open[:3])
    need(all(u in p.ids for u in p.uses), "uses what is not there")
    need("http" not in text, "an address")
    need(len(text.encode()) < 2000000, "%d bytes" % len(text.encode()))
    need(p.pre.get("given", "").startswith(expression), "the expression as written is not there")

    # Sweeps: the same number, directions and lines as --explain.
    explain = soa_run(["op", model, plain, "--explain"])
    need(p.pre.get("explain") == explain, "the plain text is not --explain's")
    wanted = [("causal" if "tips to base" in l else "anticausal") for l in explain.splitlines() if l.startswith("for k")]
    sections = [a for t, a in p.all if t == "section"]
    need([a["data-way"] for a in sections] == wanted, "ways %s, not %s" % ([a["data-way"] for a in sections], wanted))
    number = int(next(l for l in explain.splitlines() if " sweep" in l and " recursion" in l).split()[0])
    need(sum("data-sweep" in a for a in sections) == number, "number of sweeps")
    need([int(a["data-sweep"]) for a in sections if "data-sweep" in a] == list(range(1, number + 1)), "order of sweeps")
    need(any(a.get("data-sweeps") == str(number) for t, a in p.all), "the number said")
    # Patterns: those of --dense at the same state; and causal factors on one side, within the tree's ancestors.
    joints = json.loads(soa_run(["info", model, "--json"]))["joints"]
    link_body = {j["link"]: i + 1 for i, j in enumerate(joints)}
    parent = {i + 1: link_body.get(j["parent"], 0) for i, j in enumerate(joints)}
    def ancestors(b):
        out = {b}
        while parent[b]: b = parent[b]; out.add(b)
        return out
    above = {b: ancestors(b) for b in parent}
    n = len(joints)
    line = "{}" if state == "-" else open(state).read()
    if n > 40:
        need("no-patterns" in p.ids and not p.cards, "no note on patterns")
    else:
        need(p.cards, "no patterns")
    per_body = ("joint", "link", "edge")
    for card, blocks, svg in p.cards:
        name = card["data-factor"]
        need(svg, name + " has no picture")
        rows, columns = svg["data-rows"], svg["data-columns"]
        m = json.loads(soa_run(["op", model, name, "--dense"], line))["result"]
        def groups(space, size):
            if space == "joint": return [i + 1 for i, j in enumerate(joints) for _ in range(j["nv"])]
            return [0] * size if space == "base" else [k // 6 + 1 for k in range(size)]
        R, C = groups(rows, len(m)), groups(columns, len(m[0]))
        need(len(R) == len(m) and len(C) == len(m[0]), name + ": sizes")
        most = max(abs(x) for r in m for x in r)
        real = {(R[i], C[j]) for i, r in enumerate(m) for j, x in enumerate(r) if abs(x) > 1e-12 * most}
        need(set(blocks) == real and len(blocks) == len(real), "%s: blocks are not those of --dense" % name)
        if rows in per_body and columns in per_body:
            way = card["data-way"]
            need(way != "causal" or all(r <= c and r in above[c] for r, c in blocks), name + ": causal, but outside")
            need(way != "anticausal" or all(r >= c and c in above[r] for r, c in blocks), name + ": anticausal, but outside")
            need(way != "memoryless" or all(r == c for r, c in blocks), name + ": memoryless, but off the diagonal")
        if name == "phi": need(set(blocks) == {(a, b) for b in parent for a in above[b]}, "phi misses an ancestor")
    # The result, where a state was given: that of soa op.
    if state != "-":
        want = json.loads(soa_run(["op", model, expression], line))["result"]
        got = [float(x) for r in p.result for x in r[1:]]
        need(got == [float("%.9g" % x) for x in want], "the result: %s, not %s" % (got, want))
    need(expression not in ("FD1", "FD3") or "It is forward dynamics (proved" in text, "not forward dynamics")
    forward = "figure-3" in p.ids and "table-1" in p.ids
    inverse = "inv(D)" in explain.splitlines()[0] or "inv(Mass)" in expression
    need(forward == inverse, "filter and smoother: %s, inverse of the mass matrix: %s" % (forward, inverse))
    print("%-14s %-44s %d sweeps, %2d patterns, %4d kB" % (model, expression[:44], number, len(p.cards), len(text) // 1024))
for entry in open(sys.argv[2]):
    entry = entry.rstrip("\n").split("\t")
    try: judge(*entry)
    except Bad as why:
        print("FAILED %s, %s: %s" % (entry[0], entry[2], why))
        failures += 1
sys.exit(failures > 0)
END
pages=0
page() { # MODEL STATE|- EXPRESSION [the same for --explain]
    local state=()
    [ "$2" = - ] || state=(--in "$2")
    pages=$((pages + 1))
    run "$1" "$3" --explain --html $pages.html "${state[@]}"
    expect "$1 $3" 0
    check "$1 $3: nothing is printed" test ! -s out
    printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-$3}" $pages.html >>list
}
echo '{"q": [0.3, 0.4, -0.5, 0.2, 0.6, -0.1], "v": [1, 0.5, -0.3, 0.2, 0.7, 0.1], "tau": [1, 2, 3, 0.1, 0.2, 0.3], "a": [1, 2, 3, 1, 2, 3]}' >puma
{ echo; echo '{"q": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, -0.6, -0.5, -0.4, -0.3, -0.2, -0.1]}'; } >two
inverse="H phi (M phi' (H' thdd + a) + b)"
forward="inv(Mass) (T - H phi (M phi' a + b + B f0))"
for model in puma560 two-puma humanoid chain:200; do
    page $model - FD1
    page $model - FD3
    page $model - "J inv(Mass) J'" "J inv(Mass) J' f0"
    page $model - "$inverse"
done
page puma560 puma "$inverse"
page puma560 puma "$forward"
page two-puma two "$forward"
page satellite - "inv(J inv(Mass) J') J thd"
page random-ideal:7 - FD4
page arm7 - "E' phi b"
check "all pages" python3 judge.py "$soa" list
run arm7 phi --explain --html page.html
has "an operator of link space" page.html 'applied to <i>x</i>'

# Forward dynamics is recognised whatever its form.
run arm7 FD4 --explain --html page.html
has "FD4 is forward dynamics" page.html "It is forward dynamics (proved"
run arm7 FD2 --explain --html page.html
has "links' accelerations" page.html "proved equal to FD2"
run arm7 "inv(Mass) H phi b" --explain --html page.html
has "something with the inverse in it" page.html "It has the inverse of the mass matrix in it"
has "R87's equations" page.html "z⁻(k) = φ(k,k−1) z⁺(k−1) + b(k)"
has "Table I" page.html "<td>Process error covariance</td>"
has "the identity is named" 1.html "RK88-I (a.35)"
run arm7 FD1 --as-written --explain --html page.html
has "as written" page.html "Kept as written"

# What comes from outside is escaped: names of model and links, variables, the state.
evil='&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x'
cat >evil.urdf <<END
<robot name="$evil"><link name="base"/><link name="&lt;img src=x onerror='y'&gt;&amp;amp;"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="&lt;b&gt;j" type="continuous"><parent link="base"/><child link="&lt;img src=x onerror='y'&gt;&amp;amp;"/><axis xyz="0 0 1"/></joint></robot>
END
echo '{"vars": {"w": {"space": "joint", "value": [2]}, "</code><script>": {"space": "joint", "value": [1]}}}' >evil.json
run evil.urdf "inv(Mass) (T + w)" --explain --html page.html --in evil.json
expect "names with markup in them" 0
check "no tag comes through" test -z "$(grep -nE '<script|<img|<b>j|"[^"]* onload="' page.html)"
has "the model's name is there" page.html '&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x'
has "the link's too" page.html '&lt;img src=x onerror=&#39;y&#39;&gt;&amp;amp;'
has "and the state" page.html '&lt;/code&gt;&lt;script&gt;'
has "the variable is in the expression" page.html '(T + w)'
run arm7 "T </h1><script>" --explain --html page2.html
expect "what is no expression" 2
check "writes nothing" test ! -e page2.html

# Bounded: a thousand bodies; an expression as long as the parser takes.
run chain:1000 FD1 --explain --html page.html
expect "a thousand bodies" 0
check "in a small page" test "$(wc -c <page.html)" -lt 100000
has "the arm's ends are drawn" page.html '⋯994'
long="T$(for ((i = 1; i < 260; ++i)); do printf " + %d Mass thdd - %d inv(Mass) T + %d H psi P phi' a" $i $i $i; done)"
run chain:40 "$long" --explain --html page.html
expect "a long expression" 0
check "still below 2 MB" test "$(wc -c <page.html)" -lt 2000000

# Files: standard output, mistakes, an older page kept.
"$soa" op puma560 FD3 --explain --html - >out 2>err
has "standard output" out "</html>"
echo old >kept.html
run puma560 "inv(M) b" --explain --html kept.html
expect "no O(n) form" 2
has "and it says so" err "no O(n) form"
check "the older page stays" test "$(cat kept.html)" = old
run puma560 FD3 --explain --html no/such/place.html
expect "no such place" 2
has "is named" err "no/such/place.html"
mkdir folder
run puma560 FD3 --explain --html folder
expect "a folder" 2
(trap '' XFSZ; ulimit -f 1; "$soa" op puma560 FD3 --explain --html kept.html >out 2>err)
code=$?
expect "no room" 2
has "is said" err "kept.html:"
check "the older page stays then too" test "$(cat kept.html)" = old
check "nothing is left behind" test -z "$(find . -name 'kept.html.*')"
if [ -e /dev/full ]; then
    run puma560 FD3 --explain --html /dev/full
    expect "a full device" 2
fi
run puma560 FD3 --explain --html kept.html --in nowhere.json
expect "no such state" 2
echo >empty.json
run puma560 FD3 --explain --html kept.html --in empty.json
expect "no state in the file" 2
has "says so" err "no state"
echo '{"q": [1]}' >short.json
run puma560 FD3 --explain --html kept.html --in short.json
expect "a state too short" 2
check "the older page is still there" test "$(cat kept.html)" = old
run puma560 FD3 --explain --html kept.html
has "and is replaced in the end" kept.html "</html>"
finish
