#!/usr/bin/env bash
# test_version.sh SOA SOURCE VERSION  every place that states the version states the same: the program SOA, the build's
# VERSION, and in SOURCE the header base.h, CITATION.cff and the first heading of CHANGELOG.md.
set -euo pipefail
soa=${1:?usage: test_version.sh SOA SOURCE VERSION}
source=${2:?usage: test_version.sh SOA SOURCE VERSION}
version=${3:?usage: test_version.sh SOA SOURCE VERSION}
failures=0

same() { # place, what it says
    if [ "$2" != "$version" ]; then
        echo "FAILED: the build is version $version, but $1 says '$2'"
        failures=$((failures + 1))
    fi
}

number() { # MAJOR, MINOR or PATCH
    sed -n "s/^#define SOA_VERSION_$1 \\([0-9]*\\)\$/\\1/p" "$source/include/soa/base.h"
}

same "include/soa/base.h" "$(number MAJOR).$(number MINOR).$(number PATCH)"
same "CITATION.cff" "$(sed -n 's/^version: //p' "$source/CITATION.cff")"
same "CHANGELOG.md" "$(sed -n 's/^## \([0-9.]*\).*/\1/p' "$source/CHANGELOG.md" | head -n 1)"
said=$("$soa" version)
same "soa version (the program)" "$(sed 's/^soa \([^,]*\), libsoa .*/\1/' <<<"$said")"
same "soa version (the library)" "$(sed 's/^soa [^,]*, libsoa \([^,]*\), .*/\1/' <<<"$said")"
[ $failures = 0 ] && echo "version $version in all places"
[ $failures = 0 ]
