# test_elf.sh PROGRAM  the program and the shared libraries are hardened (cmake/harden.cmake), read from their headers.
. "$(dirname "$0")/../support/lib.sh"
command -v readelf >/dev/null || { echo "SKIPPED: readelf is not installed"; exit 77; }
if ! grep -q '^SOA_HARDEN:BOOL=ON' "$SOA_BUILD_DIR/CMakeCache.txt"; then
    echo "SKIPPED: this build is not hardened (SOA_HARDEN)"
    exit 77
fi

# hardened FILE: what the program and the libraries have in common
hardened() {
    local name
    name=$(basename "$1")
    readelf -hW "$1" >header
    readelf -lW "$1" >segments
    readelf -dW "$1" >dynamic
    readelf -W --dyn-syms "$1" >symbols
    check "$name: position independent" grep -q 'Type: *DYN' header
    check "$name: tables read-only after loading" grep -q GNU_RELRO segments
    check "$name: bound when loaded" grep -qE 'BIND_NOW|FLAGS_1.*NOW' dynamic
    check "$name: no executable stack" grep -qE 'GNU_STACK.* RW ' segments
    check "$name: stack protector" grep -q __stack_chk_fail symbols
}
hardened "$soa"
check "soa: a position-independent executable" grep -qE 'FLAGS_1.*PIE' dynamic
check "soa: checked libc calls" grep -qE '__[a-z]+_chk' symbols
libraries=0
for library in "$SOA_BUILD_DIR"/libsoa.so "$SOA_BUILD_DIR"/libsoa-io.so "$SOA_BUILD_DIR"/libsoa-sim.so; do
    [ -e "$library" ] || continue
    libraries=$((libraries + 1))
    hardened "$library"
    check "$(basename "$library"): checked libc calls" grep -qE '__[a-z]+_chk' symbols
done
if grep -q '^SOA_SHARED:BOOL=ON' "$SOA_BUILD_DIR/CMakeCache.txt"; then
    check "there are three shared libraries" [ "$libraries" = 3 ]
fi
finish
