/* completion.c  soa completion: prints scripts for bash, zsh and fish, made from the command table.
 *
 * The files in completion/ contain this output, for packages; a test compares them. */
#include "../app.h"
#include "../compute.h"

#include <string.h>

static const app_option none[] = {APP_OPTION_END};
static const char *const shells[] = {"bash", "zsh", "fish", NULL};

/* What an argument or the value of an option can be. The names are those of the bash script. */
typedef enum kind {
    NOTHING,
    MODEL,
    SCENARIO,
    SHOWN,
    COMMAND,
    SHELL,
    FILE_NAME,
    FUNCTIONS,
    LINK,
    LINKS,
    PART,
    AXES,
    OTHER
} kind;
static const char *const kind_names[] = {"nothing", "model", "scenario",  "shown", "command",
                                         "shell",   "file",  "functions", "link",  "links",
                                         "part",    "axes",  "other"};

static kind kind_of(const char *word) {
    static const struct {
        const char *word;
        kind kind;
    } list[] = {{"", NOTHING},          {"MODEL", MODEL},
                {"SCENARIO", SCENARIO}, {"MODEL EXPRESSION", MODEL},
                {"[COMMAND]", COMMAND}, {"SCENARIO|LOG|MODEL", SHOWN},
                {"SHELL", SHELL},       {"LOG SIGNAL...", FILE_NAME},
                {"FILE", FILE_NAME},    {"LOG", FILE_NAME},
                {"TABLE", FILE_NAME},   {"DIR", FILE_NAME},
                {"LIST", FUNCTIONS},    {"LINK", LINK},
                {"LINK,...", LINKS},    {"LINK|all", PART},
                {"link|world", AXES}};
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i)
        if (strcmp(word, list[i].word) == 0) return list[i].kind;
    return OTHER;
}

static const app_option *options_of(const app_command *command) {
    return command->options ? command->options : none;
}

static void put_commands(app_out *out) {
    for (int i = 0; app_commands[i]; ++i)
        out_format(out, "%s%s", i ? " " : "", app_commands[i]->name);
}

static void put_functions(app_out *out) {
    for (int i = 0; compute_functions[i].name; ++i)
        out_format(out, "%s%s", i ? " " : "", compute_functions[i].name);
}

/* Prints the functions that take something after a colon, as patterns: a:* | b:* */
static void put_taking(app_out *out, compute_suffix takes, const char *end, const char *between) {
    int count = 0;
    for (int i = 0; compute_functions[i].name; ++i)
        if (compute_functions[i].takes == takes)
            out_format(out, "%s%s%s", count++ ? between : "", compute_functions[i].name, end);
}

static void put_link_functions(app_out *out) {
    put_taking(out, TAKES_LINK, ":*", " | ");
}

static void put_method_functions(app_out *out) {
    put_taking(out, TAKES_METHOD, ":*", " | ");
}

static void put_joint_functions(app_out *out) {
    put_taking(out, TAKES_JOINT, ":*", " | ");
}

static void put_methods(app_out *out) {
    for (int i = 0; compute_methods[i]; ++i)
        out_format(out, "%s%s", i ? " " : "", compute_methods[i]);
}

static void put_shells(app_out *out) {
    for (int i = 0; shells[i]; ++i)
        out_format(out, "%s%s", i ? " " : "", shells[i]);
}

/* Prints text inside single quotes, with a backslash before the given characters. */
static void put_quoted(app_out *out, const char *text, const char *special, const char *quote) {
    for (; *text; ++text) {
        if (*text == '\'') {
            out_text(out, quote);
            continue;
        }
        if (strchr(special, *text)) out_char(out, '\\');
        out_char(out, *text);
    }
}

/* --- bash ------------------------------------------------------------------------------------- */
/* clang-format off */
static const char bash_script[] =
    "# bash completion for soa, made by `soa completion bash`.\n"
    "# Use: source <(soa completion bash), or put it in ~/.local/share/bash-completion/completions/soa\n"
    "\n"
    "# Those of the arguments that begin with $cur, less what bash holds for an earlier word: it cuts at ':' and '='.\n"
    "_soa_reply() {\n"
    "    local keep=${cur%\"${cur##*[:=]}\"} word\n"
    "    for word in \"$@\"; do\n"
    "        [[ $word == \"$cur\"* ]] && COMPREPLY+=(\"${word#\"$keep\"}\")\n"
    "    done\n"
    "}\n"
    "\n"
    "_soa_files() {\n"
    "    compopt -o filenames\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "}\n"
    "\n"
    "_soa_models() {\n"
    "    local names\n"
    "    mapfile -t names < <(\"$soa\" models --names 2>/dev/null)\n"
    "    _soa_reply \"${names[@]/%:*/:}\"\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace\n"
    "}\n"
    "\n"
    "_soa_scenarios() {\n"
    "    local names\n"
    "    mapfile -t names < <(\"$soa\" models --scenarios 2>/dev/null)\n"
    "    _soa_reply \"${names[@]}\"\n"
    "}\n"
    "\n"
    "# A comma-separated list of the arguments.\n"
    "_soa_list() {\n"
    "    local head=${cur%\"${cur##*,}\"} names=(\"$@\") i\n"
    "    for i in \"${!names[@]}\"; do names[i]=$head${names[i]}; done\n"
    "    compopt -o nospace\n"
    "    _soa_reply \"${names[@]}\"\n"
    "}\n"
    "\n"
    "# The same of functions; after pose: and the like the links of the model, after closed: methods, after closed_id: joints.\n"
    "_soa_functions() {\n"
    "    local tail=${cur##*,} names=(@FUNCTIONS@) i\n"
    "    case $tail in\n"
    "    @LINK_FUNCTIONS@) mapfile -t names < <(\"$soa\" info \"$model\" --frames 2>/dev/null) ;;\n"
    "    @METHOD_FUNCTIONS@) names=(@METHODS@) ;;\n"
    "    @JOINT_FUNCTIONS@) mapfile -t names < <(\"$soa\" info \"$model\" --joints 2>/dev/null) ;;\n"
    "    *) tail='' ;;\n"
    "    esac\n"
    "    [[ $tail ]] && for i in \"${!names[@]}\"; do names[i]=${tail%%:*}:${names[i]}; done\n"
    "    _soa_list \"${names[@]}\"\n"
    "}\n"
    "\n"
    "# Each command: its options, with a colon and what their value is, and what its first argument is.\n"
    "_soa() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words=() cur prev soa model='' options=() argument='' kind='' links i\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *' ' ]] && words+=('')\n"
    "    soa=${words[0]} cur=${words[${#words[@]} - 1]} prev=${words[${#words[@]} - 2]}\n"
    "    COMPREPLY=()\n"
    "    if ((${#words[@]} <= 2)); then\n"
    "        _soa_reply @COMMANDS@\n"
    "        return\n"
    "    fi\n"
    "    case ${words[1]} in\n"
    "@BASH_CASES@    esac\n"
    "    for ((i = 2; i < ${#words[@]} - 1; ++i)); do\n"
    "        if [[ \" ${options[*]} \" == *\" ${words[i]}:\"* ]]; then\n"
    "            ((++i))\n"
    "        elif [[ ${words[i]} != -* ]]; then\n"
    "            model=${model:-${words[i]}}\n"
    "        fi\n"
    "    done\n"
    "    for i in \"${options[@]}\"; do\n"
    "        [[ $i == \"$prev\":* ]] && kind=${i#*:}\n"
    "    done\n"
    "    if [[ -z $kind && $cur == -* ]]; then\n"
    "        _soa_reply \"${options[@]%%:*}\" --help\n"
    "        return\n"
    "    fi\n"
    "    [[ -z $kind && -z $model ]] && kind=$argument\n"
    "    case $kind in\n"
    "    model) _soa_models ;;\n"
    "    scenario) _soa_scenarios ;;\n"
    "    shown) _soa_scenarios; _soa_models ;;\n"
    "    command) _soa_reply @COMMANDS@ ;;\n"
    "    shell) _soa_reply @SHELLS@ ;;\n"
    "    functions) _soa_functions ;;\n"
    "    axes) _soa_reply link world ;;\n"
    "    link | links)\n"
    "        mapfile -t links < <(\"$soa\" info \"$model\" --frames 2>/dev/null)\n"
    "        _soa_list \"${links[@]}\" ;;\n"
    "    part)\n"
    "        mapfile -t links < <(\"$soa\" info \"$model\" --links 2>/dev/null)\n"
    "        _soa_list \"${links[@]}\" all ;;\n"
    "    esac\n"
    "    case $kind in\n"
    "    file) _soa_files ;;\n"
    "    model | scenario | shown) [[ ${#COMPREPLY[@]} == 0 || -z $cur ]] && _soa_files ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _soa soa\n";
/* clang-format on */

static void put_bash_cases(app_out *out) {
    for (int i = 0; app_commands[i]; ++i) {
        const app_command *command = app_commands[i];
        out_format(out, "    %s) options=(", command->name);
        for (const app_option *o = options_of(command); o->name; ++o) {
            const char *colon = o->value ? ":" : "";
            const char *takes = o->value ? kind_names[kind_of(o->value)] : "";
            if (o != options_of(command)) out_char(out, ' ');
            if (o->brief) out_format(out, "%s%s%s ", o->brief, colon, takes);
            out_format(out, "%s%s%s", o->name, colon, takes);
        }
        out_format(out, ") argument=%s ;;\n", kind_names[kind_of(command->words)]);
    }
}

/* --- zsh -------------------------------------------------------------------------------------- */
/* clang-format off */
static const char zsh_script[] =
    "#compdef soa\n"
    "# zsh completion for soa, made by `soa completion zsh`.\n"
    "# Use: source <(soa completion zsh), or put it as _soa into a directory of $fpath\n"
    "\n"
    "_soa_models() {\n"
    "    local -a names\n"
    "    names=(${(f)\"$(_call_program models $soa models --names 2>/dev/null)\"})\n"
    "    compadd -- ${names:#*:*}\n"
    "    compadd -S : -- ${${(M)names:#*:*}%%:*}\n"
    "    _files\n"
    "}\n"
    "\n"
    "_soa_scenarios() {\n"
    "    compadd -- ${(f)\"$(_call_program scenarios $soa models --scenarios 2>/dev/null)\"}\n"
    "    _files\n"
    "}\n"
    "\n"
    "_soa_shown() {\n"
    "    compadd -- ${(f)\"$(_call_program scenarios $soa models --scenarios 2>/dev/null)\"}\n"
    "    _soa_models\n"
    "}\n"
    "\n"
    "_soa_link() { compadd \"$@\" -- ${(f)\"$(_call_program links $soa info ${(q)${(Q)words[2]}} --frames 2>/dev/null)\"} }\n"
    "\n"
    "_soa_links() { _sequence _soa_link }\n"
    "\n"
    "_soa_parts() {\n"
    "    compadd -- all\n"
    "    _soa_link\n"
    "}\n"
    "\n"
    "# One entry of the list of --fn; after pose: and the like the links of the model, after closed: methods, after closed_id: joints.\n"
    "_soa_function() {\n"
    "    case $PREFIX in\n"
    "    @LINK_FUNCTIONS@)\n"
    "        compset -P '*:'\n"
    "        _soa_link \"$@\" ;;\n"
    "    @METHOD_FUNCTIONS@)\n"
    "        compset -P '*:'\n"
    "        compadd \"$@\" -- @METHODS@ ;;\n"
    "    @JOINT_FUNCTIONS@)\n"
    "        compset -P '*:'\n"
    "        compadd \"$@\" -- ${(f)\"$(_call_program joints $soa info ${(q)${(Q)words[2]}} --joints 2>/dev/null)\"} ;;\n"
    "    *) compadd \"$@\" -- @FUNCTIONS@ ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_soa_list() { _sequence _soa_function }\n"
    "\n"
    "_soa() {\n"
    "    local soa=$words[1]\n"
    "    local -a commands\n"
    "    commands=(\n"
    "@ZSH_COMMANDS@    )\n"
    "    if ((CURRENT == 2)); then\n"
    "        _describe command commands\n"
    "        return\n"
    "    fi\n"
    "    shift words\n"
    "    ((CURRENT--))\n"
    "    case $words[1] in\n"
    "@ZSH_CASES@    esac\n"
    "}\n"
    "\n"
    "if [[ $funcstack[1] == _soa ]]; then\n"
    "    _soa \"$@\"\n"
    "else\n"
    "    compdef _soa soa\n"
    "fi\n";
/* clang-format on */

static void put_zsh_commands(app_out *out) {
    for (int i = 0; app_commands[i]; ++i) {
        out_format(out, "        '%s:", app_commands[i]->name);
        put_quoted(out, app_commands[i]->summary, ":", "'\\''");
        out_text(out, "'\n");
    }
}

static void put_zsh_cases(app_out *out) {
    static const char *const actions[] = {
        [NOTHING] = " ",        [MODEL] = "_soa_models",   [SCENARIO] = "_soa_scenarios",
        [SHOWN] = "_soa_shown", [COMMAND] = " ",           [SHELL] = " ",
        [FILE_NAME] = "_files", [FUNCTIONS] = "_soa_list", [LINK] = "_soa_link",
        [LINKS] = "_soa_links", [PART] = "_soa_parts",     [AXES] = "(link world)",
        [OTHER] = " "};
    for (int i = 0; app_commands[i]; ++i) {
        const app_command *command = app_commands[i];
        out_format(out, "    %s)\n        _arguments '(- *)'{-h,--help}'[explain the command]'",
                   command->name);
        for (const app_option *o = options_of(command); o->name; ++o) {
            out_text(out, " \\\n            ");
            if (o->brief)
                out_format(out, "'(%s %s)'{%s,%s}'[", o->brief, o->name, o->brief, o->name);
            else
                out_format(out, "'%s[", o->name);
            put_quoted(out, o->text, "[]:", "'\\''");
            out_char(out, ']');
            if (o->value) out_format(out, ":%s:%s", o->value, actions[kind_of(o->value)]);
            out_char(out, '\'');
        }
        switch (kind_of(command->words)) {
        case MODEL: out_text(out, " \\\n            '1:model:_soa_models'"); break;
        case SCENARIO: out_text(out, " \\\n            '1:scenario:_soa_scenarios'"); break;
        case SHOWN: out_text(out, " \\\n            '1:what is shown:_soa_shown'"); break;
        case FILE_NAME: out_text(out, " \\\n            '1:file:_files'"); break;
        case COMMAND:
            out_text(out, " \\\n            '1:command:(");
            put_commands(out);
            out_text(out, ")'");
            break;
        case SHELL:
            out_text(out, " \\\n            '1:shell:(");
            put_shells(out);
            out_text(out, ")'");
            break;
        default: break;
        }
        out_text(out, " ;;\n");
    }
}

/* --- fish ------------------------------------------------------------------------------------- */
/* clang-format off */
static const char fish_script[] =
    "# fish completion for soa, made by `soa completion fish`.\n"
    "# Use: soa completion fish | source, or put it in ~/.config/fish/completions/soa.fish\n"
    "\n"
    "function __soa_models\n"
    "    soa models 2>/dev/null | sed '/^$/,$d' | string replace -r '^([^\\s:]+:?)\\S*\\s+' '$1\\t'\n"
    "end\n"
    "\n"
    "function __soa_scenarios\n"
    "    soa models 2>/dev/null | sed '1,/^scenarios/d' | string replace -r '^(\\S+)\\s+' '$1\\t'\n"
    "end\n"
    "\n"
    "# The links or joints of the model.\n"
    "function __soa_names\n"
    "    set -l words (commandline -opc)\n"
    "    soa info $words[3] $argv 2>/dev/null\n"
    "end\n"
    "\n"
    "function __soa_links\n"
    "    set -l head (string match -r '^.*,' -- (commandline -ct))\n"
    "    printf '%s\\n' \"$head\"(__soa_names --frames)\n"
    "end\n"
    "\n"
    "# The comma-separated list of --fn; after pose: and the like the links of the model, after closed: methods, after closed_id: joints.\n"
    "function __soa_list\n"
    "    set -l token (commandline -ct)\n"
    "    set -l head (string match -r '^.*,' -- $token)\n"
    "    set -l tail (string replace -r '^.*,' '' -- $token)\n"
    "    set -l names @FUNCTIONS@\n"
    "    if string match -qr '^(@FISH_LINK_FUNCTIONS@):' -- $tail\n"
    "        set names (__soa_names --frames)\n"
    "    else if string match -qr '^(@FISH_METHOD_FUNCTIONS@):' -- $tail\n"
    "        set names @METHODS@\n"
    "    else if string match -qr '^(@FISH_JOINT_FUNCTIONS@):' -- $tail\n"
    "        set names (__soa_names --joints)\n"
    "    else\n"
    "        set tail ''\n"
    "    end\n"
    "    set head \"$head\"(string match -r '^[^:]*:' -- $tail; or echo '')\n"
    "    printf '%s\\n' \"$head\"$names\n"
    "end\n"
    "\n"
    "complete -c soa -f\n"
    "@FISH_LINES@";
/* clang-format on */

static void put_fish_link_functions(app_out *out) {
    put_taking(out, TAKES_LINK, "", "|");
}

static void put_fish_method_functions(app_out *out) {
    put_taking(out, TAKES_METHOD, "", "|");
}

static void put_fish_joint_functions(app_out *out) {
    put_taking(out, TAKES_JOINT, "", "|");
}

static void put_fish_lines(app_out *out) {
    static const char *const actions[] = {[NOTHING] = "",
                                          [MODEL] = " -r -F -a '(__soa_models)'",
                                          [SCENARIO] = " -r -F -a '(__soa_scenarios)'",
                                          [SHOWN] = " -r -F -a '(__soa_scenarios; __soa_models)'",
                                          [COMMAND] = " -x",
                                          [SHELL] = " -x",
                                          [FILE_NAME] = " -r -F",
                                          [FUNCTIONS] = " -x -a '(__soa_list)'",
                                          [LINK] = " -x -a '(__soa_names --frames)'",
                                          [LINKS] = " -x -a '(__soa_links)'",
                                          [PART] = " -x -a 'all (__soa_names --links)'",
                                          [AXES] = " -x -a 'link world'",
                                          [OTHER] = " -x"};
    for (int i = 0; app_commands[i]; ++i) {
        out_format(out, "complete -c soa -n __fish_use_subcommand -a %s -d '",
                   app_commands[i]->name);
        put_quoted(out, app_commands[i]->summary, "\\", "\\'");
        out_text(out, "'\n");
    }
    for (int i = 0; app_commands[i]; ++i) {
        const app_command *command = app_commands[i];
        for (const app_option *o = options_of(command); o->name; ++o) {
            out_format(out, "complete -c soa -n '__fish_seen_subcommand_from %s' -l %s",
                       command->name, o->name + 2);
            if (o->brief) out_format(out, " -s %s", o->brief + 1);
            if (o->value) out_text(out, actions[kind_of(o->value)]);
            out_text(out, " -d '");
            put_quoted(out, o->text, "\\", "\\'");
            out_text(out, "'\n");
        }
        kind argument = kind_of(command->words);
        if (argument == NOTHING || argument == OTHER) continue;
        out_format(out, "complete -c soa -n '__fish_seen_subcommand_from %s' ", command->name);
        switch (argument) {
        case MODEL: out_text(out, "-F -a '(__soa_models)'"); break;
        case SCENARIO: out_text(out, "-F -a '(__soa_scenarios)'"); break;
        case SHOWN: out_text(out, "-F -a '(__soa_scenarios; __soa_models)'"); break;
        case FILE_NAME: out_text(out, "-F"); break;
        case COMMAND:
            out_text(out, "-a '");
            put_commands(out);
            out_text(out, "'");
            break;
        case SHELL:
            out_text(out, "-a '");
            put_shells(out);
            out_text(out, "'");
            break;
        default: break;
        }
        out_text(out, "\n");
    }
}

/* --- all -------------------------------------------------------------------------------------- */
/* Prints a script in which @NAME@ is replaced by a list made from the tables. */
static void put_script(app_out *out, const char *text) {
    static const struct {
        const char *name;
        void (*put)(app_out *out);
    } lists[] = {
        {"@COMMANDS@", put_commands},
        {"@FUNCTIONS@", put_functions},
        {"@LINK_FUNCTIONS@", put_link_functions},
        {"@METHOD_FUNCTIONS@", put_method_functions},
        {"@JOINT_FUNCTIONS@", put_joint_functions},
        {"@METHODS@", put_methods},
        {"@SHELLS@", put_shells},
        {"@BASH_CASES@", put_bash_cases},
        {"@ZSH_COMMANDS@", put_zsh_commands},
        {"@ZSH_CASES@", put_zsh_cases},
        {"@FISH_LINK_FUNCTIONS@", put_fish_link_functions},
        {"@FISH_METHOD_FUNCTIONS@", put_fish_method_functions},
        {"@FISH_JOINT_FUNCTIONS@", put_fish_joint_functions},
        {"@FISH_LINES@", put_fish_lines},
    };
    enum { COUNT = sizeof lists / sizeof *lists };
    while (*text) {
        size_t i = 0, step = strcspn(text + 1, "@") + 1; /* up to the next @ */
        while (i < COUNT && strncmp(text, lists[i].name, strlen(lists[i].name)) != 0)
            ++i;
        if (i < COUNT) {
            lists[i].put(out);
            step = strlen(lists[i].name);
        } else {
            out_bytes(out, text, step);
        }
        text += step;
    }
}

static int run(int argc, char **argv) {
    static const char *const scripts[] = {bash_script, zsh_script, fish_script};
    app_args args;
    int code = app_parse(&app_completion, argc, argv, &args);
    if (code != APP_GO_ON) return code;
    app_nearest search = app_nearest_to(args.word[0]);
    for (int i = 0; shells[i]; ++i) {
        if (strcmp(args.word[0], shells[i]) == 0) {
            app_out out;
            out_start(&out, 1);
            put_script(&out, scripts[i]);
            return app_finish(&app_completion, &out, APP_OK);
        }
        app_nearest_try(&search, shells[i]);
    }
    char hint[APP_HINT];
    return app_fail(&app_completion, "no completion for '%s'%s", args.word[0],
                    search.best ? app_nearest_hint(&search, hint)
                                : "; there is bash, zsh and fish");
}

const app_command app_completion = {
    .name = "completion",
    .words = "SHELL",
    .least = 1,
    .most = 1,
    .summary = "Prints the completion script of a shell: bash, zsh or fish",
    .options = none,
    .examples = "  source <(soa completion bash)\n"
                "  soa completion zsh > ~/.zfunc/_soa\n"
                "  soa completion fish > ~/.config/fish/completions/soa.fish\n",
    .run = run,
};
