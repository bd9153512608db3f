#!/usr/bin/env bash
# python-asan.sh [PYTEST ARGUMENTS]  the tests of the Python package with its extension and libsoa under the address and
# undefined-behaviour sanitizers.  Python's allocator is malloc, so that the sanitizer sees its blocks; leaks are not
# looked for, because Python itself leaves blocks at exit (tests/python/test_memory.py looks for growth).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tools=build/python-tools
[ -x "$tools/bin/pip" ] || { echo "python-asan.sh: run make python first" >&2; exit 2; }
cmake --preset asan >build/python-asan.log
cmake --build build-asan -j "${SOA_JOBS:-$(nproc)}" --target soa_static >>build/python-asan.log || { tail -n 25 build/python-asan.log >&2; exit 1; }
"$tools/bin/pip" wheel -q --no-build-isolation --no-deps -w build/python-wheels-asan -C build-dir=build/python-wheel-asan \
    -C cmake.define.SOA_SANITIZE=address,undefined -C "cmake.define.SOA_PREBUILT=$PWD/build-asan" \
    $([ ! -s build/web/view.html ] || echo "-C cmake.define.SOA_WEB_DIR=$PWD/build/web") .
rm -rf build/python-asan
"$python" -m venv build/python-asan
build/python-asan/bin/pip install -q build/python-wheels-asan/*.whl
build/python-asan/bin/pip install -q -r tests/python/tools.txt
cd build
# The program is not built with the sanitizers: it runs without their preloaded library.
printf '#!/bin/sh\nunset LD_PRELOAD\nexec "%s/soa" "$@"\n' "$PWD" >python-asan/soa
chmod +x python-asan/soa
# Left out: types; notebooks, whose kernels are other processes; growth, which the sanitizer's own lists hide; the bytes
# of the release's program, because this build has portable kernels.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc \
    SOA_PROGRAM=$PWD/python-asan/soa python-asan/bin/python -m pytest -q -rs -p no:cacheprovider \
    --ignore ../tests/python/test_types.py --ignore ../tests/python/test_notebooks.py \
    -k "not grow and not freed and not same_bytes" "${@:-../tests/python}"
