# bash completion for soa, made by `soa completion bash`.
# Use: source <(soa completion bash), or put it in ~/.local/share/bash-completion/completions/soa

# Those of the arguments that begin with $cur, less what bash holds for an earlier word: it cuts at ':' and '='.
_soa_reply() {
    local keep=${cur%"${cur##*[:=]}"} word
    for word in "$@"; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("${word#"$keep"}")
    done
}

_soa_files() {
    compopt -o filenames
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
}

_soa_models() {
    local names
    mapfile -t names < <("$soa" models --names 2>/dev/null)
    _soa_reply "${names[@]/%:*/:}"
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
}

_soa_scenarios() {
    local names
    mapfile -t names < <("$soa" models --scenarios 2>/dev/null)
    _soa_reply "${names[@]}"
}

# A comma-separated list of the arguments.
_soa_list() {
    local head=${cur%"${cur##*,}"} names=("$@") i
    for i in "${!names[@]}"; do names[i]=$head${names[i]}; done
    compopt -o nospace
    _soa_reply "${names[@]}"
}

# The same of functions; after pose: and the like the links of the model, after closed: methods, after closed_id: joints.
_soa_functions() {
    local tail=${cur##*,} names=(rnea bias gravity aba mass mass_inv pose jacobian jdot_v compliance operational energy com momentum daba_dq daba_dv drnea_dq drnea_dv observability estimate fd_two_sweep fd_ud closed assemble closed_id) i
    case $tail in
    pose:* | jacobian:* | jdot_v:* | compliance:* | operational:* | observability:* | fd_two_sweep:*) mapfile -t names < <("$soa" info "$model" --frames 2>/dev/null) ;;
    closed:*) names=(auto kkt forces null_space) ;;
    closed_id:*) mapfile -t names < <("$soa" info "$model" --joints 2>/dev/null) ;;
    *) tail='' ;;
    esac
    [[ $tail ]] && for i in "${!names[@]}"; do names[i]=${tail%%:*}:${names[i]}; done
    _soa_list "${names[@]}"
}

# Each command: its options, with a colon and what their value is, and what its first argument is.
_soa() {
    local line=${COMP_LINE:0:COMP_POINT} words=() cur prev soa model='' options=() argument='' kind='' links i
    read -ra words <<<"$line"
    [[ $line == *' ' ]] && words+=('')
    soa=${words[0]} cur=${words[${#words[@]} - 1]} prev=${words[${#words[@]} - 2]}
    COMPREPLY=()
    if ((${#words[@]} <= 2)); then
        _soa_reply info check compute ik op identity gen save models sim sweep export view report plot drop demo completion version help
        return
    fi
    case ${words[1]} in
    info) options=(--floating --ideal --no-friction --no-springs --gravity:other --json --links --frames --joints --tree) argument=model ;;
    check) options=() argument=model ;;
    compute) options=(--floating --ideal --no-friction --no-springs --gravity:other --fn:functions --in:file -o:file --out:file) argument=model ;;
    ik) options=(--floating --ideal --no-friction --no-springs --gravity:other --in:file --tip:link --tolerance:other --steps:other --no-limits) argument=model ;;
    op) options=(--floating --ideal --no-friction --no-springs --gravity:other --in:file --tip:links --dense --explain --derive --as-written --count --emit-c --axes:axes --by-matrix --generic --parts:part --html:file --to:other --jacobian:other) argument=model ;;
    identity) options=(--json --trials:other --proof --list --seed:other --all-models --rules) argument=other ;;
    gen) options=(--floating --ideal --no-friction --no-springs --gravity:other -o:file --out:file --header:file --prefix:other) argument=model ;;
    save) options=(--floating --ideal --no-friction --no-springs --gravity:other -o:file --out:file) argument=model ;;
    models) options=(--names --scenarios --print:scenario --keys) argument=nothing ;;
    sim) options=(-o:file --out:file --summary:file --resume:file --until:other --seed:other --case:other --diagram:file --strict -q --quiet) argument=scenario ;;
    sweep) options=(-n:other --cases:other -o:file --out:file -j:other --jobs:other --resume --seed:other --strict -q --quiet) argument=scenario ;;
    export) options=(-o:file --out:file --from:other --to:other --signals:other --events --list) argument=file ;;
    view) options=(--open -o:file --record:file --until:other --speed:other --paused --seed:other --case:other --floating --history:other --port:other --listen:other --token-file:file --once) argument=shown ;;
    report) options=(-o:file --out:file -q --quiet) argument=file ;;
    plot) options=(-o:file --out:file --from:other --to:other --title:other --columns:other --width:other --dpi:other --no-phases) argument=file ;;
    drop) options=(-o:file --out:file --seconds:other --model:model --q:other) argument=nothing ;;
    demo) options=(-o:file --out:file) argument=nothing ;;
    completion) options=() argument=shell ;;
    version) options=() argument=nothing ;;
    help) options=() argument=command ;;
    esac
    for ((i = 2; i < ${#words[@]} - 1; ++i)); do
        if [[ " ${options[*]} " == *" ${words[i]}:"* ]]; then
            ((++i))
        elif [[ ${words[i]} != -* ]]; then
            model=${model:-${words[i]}}
        fi
    done
    for i in "${options[@]}"; do
        [[ $i == "$prev":* ]] && kind=${i#*:}
    done
    if [[ -z $kind && $cur == -* ]]; then
        _soa_reply "${options[@]%%:*}" --help
        return
    fi
    [[ -z $kind && -z $model ]] && kind=$argument
    case $kind in
    model) _soa_models ;;
    scenario) _soa_scenarios ;;
    shown) _soa_scenarios; _soa_models ;;
    command) _soa_reply info check compute ik op identity gen save models sim sweep export view report plot drop demo completion version help ;;
    shell) _soa_reply bash zsh fish ;;
    functions) _soa_functions ;;
    axes) _soa_reply link world ;;
    link | links)
        mapfile -t links < <("$soa" info "$model" --frames 2>/dev/null)
        _soa_list "${links[@]}" ;;
    part)
        mapfile -t links < <("$soa" info "$model" --links 2>/dev/null)
        _soa_list "${links[@]}" all ;;
    esac
    case $kind in
    file) _soa_files ;;
    model | scenario | shown) [[ ${#COMPREPLY[@]} == 0 || -z $cur ]] && _soa_files ;;
    esac
}
complete -F _soa soa
