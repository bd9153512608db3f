#!/usr/bin/env bash
# test_sweep.sh PROGRAM  soa sweep: the same table to the byte for any number of threads and ranks, and after a kill.
set -u
. "$(dirname "$0")/../support/lib.sh"
verb=sweep
scenario=$here/scenarios/sweep.yaml
gone() { if [ -e "$2" ]; then bad "$1: $2 is there"; else ok; fi; }

# --- threads --------------------------------------------------------------------------------------------------------
run "$scenario" --cases 4 --jobs 1 -o one.csv
expect "one thread" 0
has summary out "of 4 cases"
gone "side file" one.csv.cases
run "$scenario" --cases 4 --jobs 2 -o two.csv -q
expect "two threads" 0
same "one and two threads" one.csv two.csv
[ "$(wc -l <one.csv)" = 5 ] && ok || bad "one.csv has $(wc -l <one.csv) lines"
has heading one.csv "case,held,position_error_m,attitude_error_deg,fingers_lost,fingers_slipped"
has "drawn values" one.csv ",ball.twist[3],"
if [ "$(sed 1d one.csv | cut -d, -f1 | tr '\n' ' ')" = "0 1 2 3 " ]; then ok; else bad "cases are not in order"; fi
if [ "$(sed 1d one.csv | cut -d, -f3 | sort -u | wc -l)" = 4 ]; then ok; else bad "cases do not differ"; fi
# soa sim draws the same case
"$soa" sim "$scenario" --case 2 --summary case2.json -q >out 2>err
if grep -q "\"position_error_m\": $(sed -n 4p one.csv | cut -d, -f3 | cut -c1-12)" case2.json; then ok; else bad "soa sim --case 2 differs"; fi
run "$scenario" --cases 4 --seed 4 --jobs 2 -o seed.csv -q
if cmp -s one.csv seed.csv; then bad "another seed gives the same table"; else ok; fi
# the table of more cases begins with that of fewer
run "$scenario" --cases 12 --jobs 2 -o twelve.csv -q
expect "twelve cases" 0
head -5 twelve.csv >five.csv
same "fewer cases" one.csv five.csv

# --- killed, torn, stopped ------------------------------------------------------------------------------------------
kill_and_resume() { # signal
    rm -f killed.csv killed.csv.cases*
    "$soa" sweep "$scenario" --cases 12 --jobs 2 -o killed.csv -q >out 2>err &
    local pid=$! k
    for k in $(seq 2000); do
        [ "$(cat killed.csv.cases 2>/dev/null | wc -l)" -ge 4 ] && break
        sleep 0.01
    done
    kill "-$1" $pid 2>/dev/null
    wait $pid
    code=$?
    if [ -e killed.csv ]; then
        echo "note: the sweep was faster than signal $1" # and nothing is left to resume
    else
        if [ "$1" = INT ]; then expect "stopped by $1" 1; fi
        run "$scenario" --cases 12 --jobs 2 -o killed.csv -q
        expect "finished cases are not thrown away" 2
        has "what to do" err "resume it"
        printf '0123456789abcdef 7,1,0.5' >>killed.csv.cases # as a power cut may leave it
        run "$scenario" --cases 12 --jobs 1 -o killed.csv --resume
        expect "resumed after $1" 0
        has "kept" out "were kept from before"
    fi
    same "after $1" twelve.csv killed.csv
    gone "side file after resuming" killed.csv.cases
}
kill_and_resume KILL
kill_and_resume INT
# a row that was damaged is run again; a side file of something else is refused
head -c 100 twelve.csv >other.csv.cases
run "$scenario" --cases 4 -o other.csv --resume -q
expect "a side file of something else" 2
has "whose it is" err "another scenario"

# --- mistakes -------------------------------------------------------------------------------------------------------
run "$scenario" --cases 0
expect "no cases" 2
run nothing.yaml
expect "no scenario" 2
run "$scenario" --cases 2 -o /nowhere/table.csv -q
expect "no such folder" 2
has "no such folder" err "/nowhere"

# --- ranks ----------------------------------------------------------------------------------------------------------
if [ -x "$(dirname "$soa")/soa-mpi" ] && command -v mpirun >/dev/null; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_btl_vader_single_copy_mechanism=none
    for ranks in 2 3; do
        timeout 120 mpirun -n $ranks "$soa" sweep "$scenario" --cases 4 -o ranks.csv -q >out 2>err
        code=$?
        expect "$ranks ranks" 0
        same "$ranks ranks" one.csv ranks.csv
        gone "side file of $ranks ranks" ranks.csv.cases.1
        rm -f ranks.csv
    done
    # what one rank had done is not done again by three
    "$soa" sweep "$scenario" --cases 12 --jobs 1 -o ranks.csv -q >out 2>err &
    pid=$!
    for k in $(seq 2000); do
        [ "$(cat ranks.csv.cases 2>/dev/null | wc -l)" -ge 3 ] && break
        sleep 0.01
    done
    kill -KILL $pid 2>/dev/null
    wait $pid
    [ -e ranks.csv ] || timeout 120 mpirun -n 3 "$soa" sweep "$scenario" --cases 12 -o ranks.csv --resume >out 2>err
    same "resumed by three ranks" twelve.csv ranks.csv
else
    echo "SKIPPED: the ranks (soa-mpi is not built here, or there is no mpirun); all else was tested"
fi
finish
