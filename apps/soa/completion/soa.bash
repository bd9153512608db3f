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
    [[ ${#COMPREPLY[@]} == 0 || -z $cur ]] && _soa_files
}

# The comma-separated list of --fn; after pose: and the like, the links of the model.
_soa_list() {
    local head=${cur%"${cur##*,}"} tail=${cur##*,} names=("$@") i
    case $tail in
    pose:* | jacobian:* | jdot_v:* | compliance:* | operational:*)
        mapfile -t names < <("$soa" info "$model" --links 2>/dev/null)
        head+=${tail%%:*}: ;;
    esac
    for i in "${!names[@]}"; do names[i]=$head${names[i]}; done
    compopt -o nospace
    _soa_reply "${names[@]}"
}

_soa() {
    local line=${COMP_LINE:0:COMP_POINT} words=() cur prev soa model='' options=() i
    read -ra words <<<"$line"
    [[ $line == *' ' ]] && words+=('')
    soa=${words[0]} cur=${words[${#words[@]} - 1]} prev=${words[${#words[@]} - 2]}
    COMPREPLY=()
    if ((${#words[@]} <= 2)); then
        _soa_reply info check compute ik op identity gen save models sim sweep export view report plot drop demo completion version help
        return
    fi
    for ((i = 2; i < ${#words[@]} - 1; ++i)); do
        case ${words[i]} in
        --in | --out | --html | --output | -o | --summary | --resume | --diagram | --record | -o | --token-file | --fn | --gravity | --tip | --tolerance | --steps | --axes | --parts | --trials | --prefix | --until | --seed | --case | --cases | -n | --jobs | -j | --from | --to | --signals | --speed | --port | --listen | --title | --columns | --width | --dpi | --seconds | --q) ((++i)) ;;
        -*) ;;
        *) model=${model:-${words[i]}} ;;
        esac
    done
    case $prev in
    --in | --out | --html | --output | -o | --summary | --resume | --diagram | --record | -o | --token-file) _soa_files; return ;;
    --fn) _soa_list rnea bias gravity aba mass mass_inv pose jacobian jdot_v compliance operational energy com momentum daba_dq daba_dv drnea_dq drnea_dv closed assemble closed_id; return ;;
    --gravity | --tip | --tolerance | --steps | --axes | --parts | --trials | --prefix | --until | --seed | --case | --cases | -n | --jobs | -j | --from | --to | --signals | --speed | --port | --listen | --title | --columns | --width | --dpi | --seconds | --q) return ;;
    esac
    case ${words[1]} in
    info)
        options=(--floating --ideal --gravity --json --links --tree)
        [[ $cur != -* && -z $model ]] && _soa_models ;;
    check)
        options=()
        [[ $cur != -* && -z $model ]] && _soa_models ;;
    compute)
        options=(--floating --ideal --gravity --fn --in --out)
        [[ $cur != -* && -z $model ]] && _soa_models ;;
    ik)
        options=(--floating --ideal --gravity --in --tip --tolerance --steps --no-limits)
        [[ $cur != -* && -z $model ]] && _soa_models ;;
    op)
        options=(--floating --ideal --gravity --in --tip --dense --explain --derive --as-written --count --emit-c --axes --by-matrix --generic --parts --html) ;;
    identity)
        options=(--json --trials --proof) ;;
    gen)
        options=(--floating --ideal --gravity -o --output --prefix)
        [[ $cur != -* && -z $model ]] && _soa_models ;;
    save)
        options=(--floating --ideal --gravity -o --output)
        [[ $cur != -* && -z $model ]] && _soa_models ;;
    models)
        options=(--names) ;;
    sim)
        options=(-o --out --summary --resume --until --seed --case --diagram -q --quiet) ;;
    sweep)
        options=(-n --cases -o --out -j --jobs --resume --seed -q --quiet) ;;
    export)
        options=(-o --output --from --to --signals --events --list)
        [[ $cur != -* && -z $model ]] && _soa_files ;;
    view)
        options=(--open -o --record --until --speed --paused --seed --case --floating --port --listen --token-file --once) ;;
    report)
        options=(-o --output -q --quiet)
        [[ $cur != -* && -z $model ]] && _soa_files ;;
    plot)
        options=(-o --output --from --to --title --columns --width --dpi --no-phases)
        [[ $cur != -* && -z $model ]] && _soa_files ;;
    drop)
        options=(-o --out --seconds --model --q) ;;
    demo)
        options=(-o --out) ;;
    completion)
        options=()
        _soa_reply bash zsh fish ;;
    version)
        options=() ;;
    help)
        options=()
        _soa_reply info check compute ik op identity gen save models sim sweep export view report plot drop demo completion version help ;;
    esac
    [[ $cur == -* ]] && _soa_reply "${options[@]}" --help
}
complete -F _soa soa
