#!/usr/bin/env bash
# test_time_bounds.sh SOA  inputs within the documented limits that would take long: answered or refused in 10 s.
# docs/robustness.md has the table.  SOA_SLOW=N: a machine N times slower than that.
. "$(dirname "$0")/../support/lib.sh"
[ -z "${SOA_SANITIZE:-}" ] || { echo "SKIPPED: times of a sanitizers' build say nothing"; exit 77; }
command -v python3 >/dev/null || { echo "SKIPPED: python3 is not installed"; exit 77; }
bound=$((10 * ${SOA_SLOW:-1}))

# soon WHAT CODE TEXT ARGUMENTS...: ends with CODE within the bound; TEXT is in what it says
soon() {
    local what=$1 wanted=$2 text=$3 begun=$EPOCHREALTIME
    shift 3
    timeout -k 1 $bound "$soa" "$@" <"${in:-/dev/null}" >out 2>err
    code=$?
    printf '%5.1f s  %s\n' "$(python3 -c "print($EPOCHREALTIME - $begun)")" "$what"
    expect "$what" "$wanted"
    if [ -n "$text" ]; then has "$what" <(cat out err) "$text"; fi
}

python3 - <<'END'
link = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
def chain(name, n, shapes=""):
    with open(name, "w") as f:
        f.write('<robot name="r"><link name="l0"/>\n')
        for i in range(1, n + 1):
            f.write(f'<link name="l{i}">{link}{shapes}</link>\n<joint name="j{i}" type="continuous"><origin xyz="0.01 0 0"/>'
                    f'<parent link="l{i - 1}"/><child link="l{i}"/><axis xyz="0 0 1"/></joint>\n')
        f.write("</robot>\n")
def robot(name, inside, attributes=""):
    with open(name, "w") as f:
        f.write(f'<robot name="r" {attributes}><link name="a"/>{inside}</robot>\n')
def scenario(name, rest):
    with open(name, "w") as f:
        f.write("name: x\nduration: 0.002\n" + rest)
chain("chain.urdf", 50000)
chain("huge.urdf", 200000)
robot("attributes.urdf", "", " ".join(f'a{i}="1"' for i in range(80000)))
robot("spaces.urdf", "", " ".join(f'xmlns:n{i}="u{i}"' for i in range(80000)))
robot("crowds.urdf", "".join("<x " + " ".join(f'a{i}=""' for i in range(1000)) + "/>" for _ in range(3000)))
robot("deep.urdf", "<x>" * 200000 + "</x>" * 200000)
meshes = "".join(f'<visual><geometry><mesh filename="package://p{i}/x.stl"/></geometry></visual>' for i in range(60000))
with open("packages.urdf", "w") as f:
    f.write(f'<robot name="r"><link name="a">{meshes}</link></robot>\n')
robot("pipe.urdf", "")
with open("pipe.urdf", "w") as f:
    f.write('<robot name="r"><link name="a"><visual><geometry><mesh filename="fifo.stl"/></geometry></visual></link></robot>\n')
box = "body: {mass: 1, box: [1, 1, 1]}"
boxes = "parts:\n" + "".join(f"  - {{name: p{i}, {box}, place: {{xyz: [{2 * i}, 0, 0]}}}}\n" for i in range(2000))
shapes = "shapes:\n" + "".join(f"  - {{name: s{i}, on: p{i}, group: g, box: [1, 1, 1]}}\n" for i in range(2000))
scenario("pairs.yaml", boxes + shapes + "contacts: [{between: [g, g]}]\n")
scenario("contacts.yaml", boxes + shapes + "contacts:\n" + "".join(
    f"  - {{between: [s{i % 2000}, s{(7 * i + 1) % 2000}]}}\n" for i in range(10000)))
scenario("alias.yaml", "text: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"k{i}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(12)))
scenario("model.yaml", "parts: [{name: a, model: fifo}]\n")
scenario("mesh.yaml", f"parts: [{{name: a, {box}}}]\nshapes: [{{name: s, on: a, mesh: fifo.stl}}]\n")
scenario("device.yaml", f"parts: [{{name: a, {box}}}]\nshapes: [{{name: s, on: a, mesh: /dev/zero}}]\n")
scenario("material.yaml", f"parts: [{{name: a, {box}}}]\nshapes: [{{name: s, on: a, mesh: m.obj}}]\n")
with open("m.obj", "w") as f:
    f.write("mtllib fifo\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\n")
with open("zeros.json", "w") as f:
    f.write('{"q": [' + ",".join(["0"] * 3000000) + "]}\n")
END
mkfifo fifo fifo.stl
echo '{}' >state

soon "a chain of 50,000 links, checked" 0 "0 errors" check chain.urdf
soon "and shown" 0 "l50000" info chain.urdf
in=state soon "and computed with" 0 "qdd" compute chain.urdf --fn aba
soon "200,000 joints" 1 "a URDF may have 100000" check huge.urdf
soon "80,000 attributes" 1 "more than 64 attributes" check attributes.urdf
soon "80,000 namespaces" 1 "more than 64 attributes" check spaces.urdf
soon "3,000 elements of 1,000 attributes" 1 "more than 64 attributes" check crowds.urdf
soon "200,000 elements inside each other" 1 "" check deep.urdf
soon "60,000 packages" 0 "0 errors" check packages.urdf
soon "a mesh that is a pipe, checked" 0 "a pipe or a device" check pipe.urdf
soon "chain:100000 shown" 0 "link100000" info chain:100000
soon "as a tree" 0 "link100000" info chain:100000 --tree
soon "viewed" 2 "a record holds at most 65536" view chain:100000
soon "its operations counted" 2 "at most 1000" op chain:100000 FD3 --count
in=state soon "its mass matrix" 2 "ask for less" compute chain:100000 --fn mass
in=state soon "a dense matrix 6,000 wide" 2 "fewer bodies" op chain:1000 phi --dense
in=zeros.json soon "a state of 3,000,000 numbers" 1 "" compute arm7 --fn aba
soon "2,000 shapes, all with all" 2 "pairs of shapes" sim pairs.yaml -q
soon "10,000 contacts of 2,000 shapes" 2 "too many to go through" sim contacts.yaml -q
soon "aliases of aliases" 2 "" sim alias.yaml -q
soon "a model that is a pipe" 2 "a pipe or a device" sim model.yaml -q
soon "a mesh that is a pipe" 2 "no regular file" sim mesh.yaml -q
soon "a mesh that is a device" 2 "no regular file" sim device.yaml -q
soon "a material that is a pipe" 0 "" sim material.yaml -q

repeat() { python3 -c "import sys; print(sys.argv[2].join([sys.argv[1]] * int(sys.argv[3])))" "$@"; }
phis=$(repeat phi ' ' 2400) masses=$(repeat Mass ' + ' 1400) powers=$(repeat "(phi + P H' H)" ' ' 11)
soon "a product of 2,400 factors" 0 "the expression is long" identity "$phis = $phis"
soon "a sum of 1,400 terms" 0 "true" identity "$masses = $masses"
soon "2,048 words" 1 "false" identity "$powers = phi"
soon "an inverse before ten terms" 0 "" op arm7 --derive "inv(P Phi L H) (a + V + alpha + b + a + V + G thdd + b + alpha + alpha)"
soon "a vector of 900 terms" 0 "" op arm7 --derive "inv(Mass) ($(repeat T ' + ' 900))"
finish
