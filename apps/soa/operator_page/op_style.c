/* op_style.c  style sheet for the page of an operator expression.
 *
 * Colours are variables, chosen by prefers-color-scheme; when printed, always those for paper. Blue
 * and orange (Okabe and Ito's pair, darkened or lightened for contrast) distinguish causal from
 * anticausal. Arrows, words and full or dashed lines show the same difference. Shades s1 to s6
 * differ only in lightness. */
#include "op_page.h"

/* clang-format off */
const char *const op_style[] = {
    (":root{color-scheme:light dark;--page:#fdfdfb;--ink:#1c1f23;--soft:#5b6169;--line:#d5d8dc;"
     "--panel:#f4f5f3;"
     "  --causal:#0067a5;--anti:#b84a00;--still:#47525e;--s1:#e3edf6;--s2:#bfd6ea;--s3:#8db8da;"
     "--s4:#5592c4;"
     "  --s5:#2268a3;--s6:#0b3c6f;--edge:#9aa1a9}\n"),
    "@media(prefers-color-scheme:dark){\n",
    ("  :root{--page:#14171a;--ink:#e6e8ea;--soft:#a2a9b1;--line:#363c43;--panel:#1d2125;"
     "--causal:#62b8f0;"
     "    --anti:#f5a04a;--still:#b9c2cc;--s1:#1d2f40;--s2:#264a69;--s3:#316b97;--s4:#4a93c6;"
     "--s5:#83bfe8;"
     "    --s6:#d3ecff;--edge:#626a73}\n"),
    "}\n",
    "@media print{\n",
    ("  :root{color-scheme:light;--page:#fff;--ink:#000;--soft:#444;--line:#bbb;--panel:#fff;"
     "--causal:#0067a5;"
     "    --anti:#b84a00;--still:#333;--s1:#e3edf6;--s2:#bfd6ea;--s3:#8db8da;--s4:#5592c4;"
     "--s5:#2268a3;"
     "    --s6:#0b3c6f;--edge:#888}\n"),
    "  .s1,.s2,.s3,.s4,.s5,.s6{print-color-adjust:exact;-webkit-print-color-adjust:exact}\n",
    "  section.sweep,figure,tr,.flow{break-inside:avoid}\n",
    "  pre{max-height:none}\n",
    "  h2,h3{break-after:avoid}\n",
    "}\n",
    "*{box-sizing:border-box}\n",
    "html{background:var(--page);color:var(--ink)}\n",
    ("body{margin:0 auto;max-width:1200px;padding:20px 24px 60px;"
     "font:15px/1.5 system-ui,\"Segoe UI\",\"DejaVu Sans\",sans-serif}\n"),
    "h1{font-size:23px;margin:4px 0 2px;overflow-wrap:anywhere}\n",
    "h2{font-size:18px;margin:34px 0 8px;padding-top:10px;border-top:1px solid var(--line)}\n",
    "h3{font-size:15px;margin:18px 0 6px}\n",
    "p{margin:6px 0;max-width:80ch}\n",
    ".note,.legend,.sub,.type,.what,.form{color:var(--soft);font-size:13px}\n",
    ".legend svg{vertical-align:-2px}\n",
    ("pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--panel);padding:10px 12px;"
     "border-radius:6px;margin:8px 0;font:13px/1.45 ui-monospace,\"DejaVu Sans Mono\",monospace;"
     "max-height:420px;overflow:auto}\n"),
    "code{font:13px ui-monospace,\"DejaVu Sans Mono\",monospace}\n",
    ".math{font-family:\"STIX Two Text\",\"Cambria\",\"DejaVu Serif\",serif;font-size:16px}\n",
    "sup,sub{line-height:0;font-size:72%}\n",
    ".facts{display:flex;flex-wrap:wrap;gap:8px;margin:12px 0}\n",
    ".facts div{background:var(--panel);border-radius:6px;padding:6px 12px;min-width:92px}\n",
    ".facts b{display:block;font-size:20px;font-variant-numeric:tabular-nums}\n",
    "table{border-collapse:collapse;font-size:14px}\n",
    ("td,th{padding:3px 10px 3px 0;text-align:left;vertical-align:top;"
     "border-bottom:1px solid var(--line)}\n"),
    "td.math{font-size:15px}\n",
    ".number,.numbers td{font-variant-numeric:tabular-nums;text-align:right}\n",
    ".numbers td:first-child,.numbers th{text-align:left}\n",
    ".scroll{overflow-x:auto;max-width:100%}\n",
    "svg{max-width:100%;height:auto}\n",
    "svg.defs{position:absolute}\n",
    ".typed{line-height:1;margin:10px 0;font-size:15px}\n",
    (".typed .box,.typed .leaf{display:inline-flex;margin:2px;border-radius:6px;"
     "vertical-align:middle}\n"),
    (".typed .box{flex-wrap:wrap;align-items:center;border:1px solid var(--line);"
     "padding:3px 4px 15px;"
     "  position:relative}\n"),
    (".typed .leaf{flex-direction:column;align-items:center;padding:7px 6px 4px;"
     "background:var(--panel);"
     "  border-top:3px solid var(--still)}\n"),
    (".typed .leaf small,.typed .box>small{font:10.5px/1.25 system-ui,sans-serif;color:var(--soft);"
     "  white-space:nowrap}\n"),
    ".typed .box>small{position:absolute;left:6px;bottom:2px}\n",
    ".typed .leaf.causal{border-top-color:var(--causal);border-top-style:solid}\n",
    ".typed .leaf.anticausal{border-top-color:var(--anti);border-top-style:dashed}\n",
    ".typed .leaf.mixed{border-top-style:double}\n",
    ".typed .sign{margin:0 4px}\n",
    ".typed .leaf.vector{border-top:3px dotted var(--soft)}\n",
    ".typed .power{align-self:flex-start;font-size:12px;padding:1px 2px}\n",
    "ol.forms{list-style:none;padding:0;margin:8px 0}\n",
    ("ol.forms li{padding:5px 0 5px 26px;border-bottom:1px solid var(--line);text-indent:-26px;"
     "  overflow-wrap:anywhere}\n"),
    "ol.forms em{color:var(--soft);font-size:13px;font-style:normal;display:block;text-indent:0}\n",
    ("section.sweep{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:4px 28px;"
     "  padding:12px 0 14px;border-bottom:1px solid var(--line)}\n"),
    "section.sweep>h3{grid-column:1/-1;margin:0}\n",
    ".arrow{font-weight:600}\n",
    ".causal .arrow,.causal>.way{color:var(--causal)}\n",
    ".anticausal .arrow,.anticausal>.way{color:var(--anti)}\n",
    ".lines{margin:0}\n",
    ".lines td{border:0;padding:1px 8px 1px 0}\n",
    ".lines td:first-child{white-space:nowrap}\n",
    ".lines .run td{font-weight:600}\n",
    ".lines em{color:var(--soft);font:12.5px system-ui,sans-serif}\n",
    ".fuses{margin:8px 0}\n",
    (".fuses span{display:inline-block;border:1px solid var(--line);border-radius:5px;padding:0 7px;"
     "  margin:2px 3px 2px 0}\n"),
    ".fuses .run{border-width:2px}\n",
    ".causal .fuses .run{border-color:var(--causal)}\n",
    ".anticausal .fuses .run{border-color:var(--anti)}\n",
    (".key{columns:4 210px;font-size:13px;padding-left:0;list-style:none;margin:8px 0;"
     "overflow-wrap:anywhere}\n"),
    ".key b{display:inline-block;min-width:22px;text-align:right;margin-right:6px}\n",
    "svg text{fill:var(--ink);font:12px system-ui,\"DejaVu Sans\",sans-serif;text-anchor:middle}\n",
    "svg text.small{font-size:10px}\n",
    ".n{fill:var(--ink);font:12px system-ui,\"DejaVu Sans\",sans-serif;text-anchor:middle}\n",
    ".n.small{font-size:10.5px}\n",
    ".thin{stroke:var(--edge);stroke-width:1.2;fill:none}\n",
    ".body{fill:var(--page);stroke:var(--ink);stroke-width:1.5}\n",
    ".more{fill:var(--panel);stroke:var(--edge);stroke-dasharray:3 2}\n",
    ".base{stroke:var(--ink);stroke-width:3}\n",
    ".ground{stroke:var(--edge);stroke-width:1.2}\n",
    ".tip{fill:var(--still)}\n",
    ".dots{stroke:var(--still);stroke-width:4.6;stroke-linecap:round}\n",
    ".shaft{fill:none;stroke:currentColor;stroke-width:2.2}\n",
    ".head{fill:currentColor;stroke:none}\n",
    "svg .causal{color:var(--causal)}\n",
    "svg .anticausal{color:var(--anti)}\n",
    ".lane-p .shaft,.lane-p{stroke-dasharray:6 3}\n",
    ".lane-s .shaft,.lane-s{stroke-dasharray:1.5 3}\n",
    ".lane-p .head,.lane-s .head{stroke-dasharray:none}\n",
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(270px,1fr));gap:14px}\n",
    (".card{margin:0;background:var(--panel);border-radius:8px;padding:10px 12px;"
     "border-top:3px solid var(--still);"
     "  min-width:0}\n"),
    ".card.causal{border-top-color:var(--causal)}\n",
    ".card.anticausal{border-top-color:var(--anti);border-top-style:dashed}\n",
    ".card.mixed{border-top-style:double}\n",
    ".card figcaption{min-height:88px;line-height:1.35;overflow-wrap:anywhere}\n",
    ".card .what{font-size:12.5px}\n",
    ".card .way{font-size:13px}\n",
    ".pattern text{font-size:9px;fill:var(--soft)}\n",
    ".pattern text.row{text-anchor:end}\n",
    ".frame{fill:none;stroke:var(--edge)}\n",
    ".block{fill:none;stroke:var(--edge);stroke-width:.7}\n",
    ".s1{fill:var(--s1)}\n",
    ".s2{fill:var(--s2)}\n",
    ".s3{fill:var(--s3)}\n",
    ".s4{fill:var(--s4)}\n",
    ".s5{fill:var(--s5)}\n",
    ".s6{fill:var(--s6)}\n",
    ".flows{display:flex;flex-wrap:wrap;margin:14px 0 6px}\n",
    ".flow{flex:1 1 340px;max-width:600px;min-width:0}\n",
    ".flow.right{border-left:1px dashed var(--edge)}\n",
    ".flow .wire{fill:none;stroke:currentColor;stroke-width:1.8}\n",
    ".flow .again{stroke-dasharray:5 3;stroke-width:1.3}\n",
    ".flow rect,.flow circle{fill:var(--page);stroke:currentColor;stroke-width:1.6}\n",
    ".flow .tap{fill:currentColor}\n",
    ".flow .in text{font-size:13px}\n",
    ".flow text{font-size:13.5px}\n",
    ".flow .tag .start{text-anchor:start}\n",
    ".flow .tag .end{text-anchor:end}\n",
    ".flow .faint{fill:var(--soft);font-size:12px}\n",
    ".flow .title{font-size:15px;font-weight:600;text-anchor:start}\n",
    ".flow.right .title{text-anchor:end}\n",
    ".flow .in .sign,.flow .in text.sign{font-size:12px}\n",
    ".columns{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,7fr);gap:0 34px}\n",
    ".circled{padding-left:26px;margin:4px 0;font-size:14px}\n",
    ".equations td{font-size:13.5px}\n",
    ".flow .place circle{fill:var(--ink);stroke:none}\n",
    ".flow .place text{fill:var(--page);font-size:11px;font-weight:600}\n",
    ".dot,.dots2,.tilde{position:relative}\n",
    (".dot::before,.dots2::before,.tilde::before{position:absolute;left:0;right:0;top:-.12em;"
     "text-align:center;"
     "  line-height:1;font-style:normal}\n"),
    ".dot::before{content:\"˙\"}\n",
    ".dots2::before{content:\"¨\"}\n",
    ".tilde::before{content:\"˜\"}\n",
    ".note.typed{font-size:13px}\n",
    "details{margin:8px 0}\n",
    "summary{cursor:pointer}\n",
    "footer{margin-top:40px;color:var(--soft);font-size:13px}\n",
    "@media(max-width:760px){\n",
    "  body{padding:14px 14px 40px}\n",
    "  section.sweep,.columns{grid-template-columns:minmax(0,1fr)}\n",
    "  .flow.right{border-left:0;border-top:1px dashed var(--edge)}\n",
    "  .flow{flex-basis:100%}\n",
    "  h1{font-size:19px}\n",
    "  .equations td:first-child{display:none}\n",
    "  .card figcaption{min-height:0}\n",
    "  .dictionary{font-size:12.5px}\n",
    "  .dictionary td,.dictionary th{padding-right:6px}\n",
    "}\n",
    NULL};
