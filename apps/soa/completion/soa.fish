# fish completion for soa, made by `soa completion fish`.
# Use: soa completion fish | source, or put it in ~/.config/fish/completions/soa.fish

function __soa_models
    soa models 2>/dev/null | sed '/^$/,$d' | string replace -r '^([^\s:]+:?)\S*\s+' '$1\t'
end

function __soa_scenarios
    soa models 2>/dev/null | sed '1,/^scenarios/d' | string replace -r '^(\S+)\s+' '$1\t'
end

# The links or joints of the model.
function __soa_names
    set -l words (commandline -opc)
    soa info $words[3] $argv 2>/dev/null
end

function __soa_links
    set -l head (string match -r '^.*,' -- (commandline -ct))
    printf '%s\n' "$head"(__soa_names --frames)
end

# The comma-separated list of --fn; after pose: and the like the links of the model, after closed: methods, after closed_id: joints.
function __soa_list
    set -l token (commandline -ct)
    set -l head (string match -r '^.*,' -- $token)
    set -l tail (string replace -r '^.*,' '' -- $token)
    set -l names rnea bias gravity aba mass mass_inv pose jacobian jdot_v compliance operational energy com momentum daba_dq daba_dv drnea_dq drnea_dv observability estimate fd_two_sweep fd_ud closed assemble closed_id
    if string match -qr '^(pose|jacobian|jdot_v|compliance|operational|observability|fd_two_sweep):' -- $tail
        set names (__soa_names --frames)
    else if string match -qr '^(closed):' -- $tail
        set names auto kkt forces null_space
    else if string match -qr '^(closed_id):' -- $tail
        set names (__soa_names --joints)
    else
        set tail ''
    end
    set head "$head"(string match -r '^[^:]*:' -- $tail; or echo '')
    printf '%s\n' "$head"$names
end

complete -c soa -f
complete -c soa -n __fish_use_subcommand -a info -d 'Shows what is in a model: links, joints, coordinates, masses'
complete -c soa -n __fish_use_subcommand -a check -d 'Looks for everything doubtful in a model'
complete -c soa -n __fish_use_subcommand -a compute -d 'Computes dynamics for states read line by line'
complete -c soa -n __fish_use_subcommand -a ik -d 'Finds joint positions for wanted poses of links'
complete -c soa -n __fish_use_subcommand -a op -d 'Runs an operator expression as O(n) sweeps'
complete -c soa -n __fish_use_subcommand -a identity -d 'Proves or refutes an identity between operators'
complete -c soa -n __fish_use_subcommand -a gen -d 'Writes self-contained C for one model'
complete -c soa -n __fish_use_subcommand -a save -d 'Saves a model as one binary file with version and checksum'
complete -c soa -n __fish_use_subcommand -a models -d 'Lists the shipped models and scenarios'
complete -c soa -n __fish_use_subcommand -a sim -d 'Runs a scenario: machines, contacts, controllers, in time'
complete -c soa -n __fish_use_subcommand -a sweep -d 'Runs many cases of a scenario, their quantities drawn at random'
complete -c soa -n __fish_use_subcommand -a export -d 'Writes the record of a run as HDF5 or CSV'
complete -c soa -n __fish_use_subcommand -a view -d 'Shows a run, a record or a machine in the browser'
complete -c soa -n __fish_use_subcommand -a report -d 'Writes a run as one HTML file: the motion in 3-D, plots, summary, scenario'
complete -c soa -n __fish_use_subcommand -a plot -d 'Draws signals of a run for papers, as SVG, PDF or PNG'
complete -c soa -n __fish_use_subcommand -a drop -d 'Drops a PUMA 560 from rest and writes a table and a picture of its motion'
complete -c soa -n __fish_use_subcommand -a demo -d 'Two arms on a floating base catch a satellite; writes records, a picture and a report'
complete -c soa -n __fish_use_subcommand -a completion -d 'Prints the completion script of a shell: bash, zsh or fish'
complete -c soa -n __fish_use_subcommand -a version -d 'Prints the versions of the program and its library'
complete -c soa -n __fish_use_subcommand -a help -d 'Explains a command, with examples'
complete -c soa -n '__fish_seen_subcommand_from info' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from info' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from info' -l no-friction -d 'no friction in the joints; springs and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from info' -l no-springs -d 'no springs in the joints; friction and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from info' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from info' -l json -d 'one JSON object: nq nv bodies mass gravity bytes joints mimic frames constraints'
complete -c soa -n '__fish_seen_subcommand_from info' -l links -d 'only the names of the links, one per line'
complete -c soa -n '__fish_seen_subcommand_from info' -l frames -d 'the same with all other named places: whatever pose:LINK, --tip and fext take'
complete -c soa -n '__fish_seen_subcommand_from info' -l joints -d 'only the names of the joints with coordinates, in the order of q'
complete -c soa -n '__fish_seen_subcommand_from info' -l tree -d 'the spanning tree with its cut joints, and WD89\'s binary tree'
complete -c soa -n '__fish_seen_subcommand_from info' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from check' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from compute' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from compute' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from compute' -l no-friction -d 'no friction in the joints; springs and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from compute' -l no-springs -d 'no springs in the joints; friction and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from compute' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from compute' -l fn -x -a '(__soa_list)' -d 'what to compute, comma-separated (needed)'
complete -c soa -n '__fish_seen_subcommand_from compute' -l in -r -F -d 'read from FILE instead of standard input'
complete -c soa -n '__fish_seen_subcommand_from compute' -l out -s o -r -F -d 'write to FILE instead of standard output; it appears when all is done'
complete -c soa -n '__fish_seen_subcommand_from compute' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from ik' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from ik' -l no-friction -d 'no friction in the joints; springs and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from ik' -l no-springs -d 'no springs in the joints; friction and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from ik' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from ik' -l in -r -F -d 'read targets from FILE instead of standard input'
complete -c soa -n '__fish_seen_subcommand_from ik' -l tip -x -a '(__soa_names --frames)' -d 'the link that a target without a link\'s name is for (default: the link of the last joint)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l tolerance -x -d 'the residual that is good enough (default 1e-9)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l steps -x -d 'at most N steps a line (default 200)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l no-limits -d 'joints may leave their limits'
complete -c soa -n '__fish_seen_subcommand_from ik' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from op' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from op' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from op' -l no-friction -d 'no friction in the joints; springs and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from op' -l no-springs -d 'no springs in the joints; friction and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from op' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from op' -l in -r -F -d 'read states from FILE instead of standard input'
complete -c soa -n '__fish_seen_subcommand_from op' -l tip -x -a '(__soa_links)' -d 'the frames of tip space (default: the link of the last joint)'
complete -c soa -n '__fish_seen_subcommand_from op' -l dense -d 'the matrix, formed by dense arithmetic, instead of running sweeps'
complete -c soa -n '__fish_seen_subcommand_from op' -l explain -d 'print the sweeps as recursions and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l derive -d 'print how the expression was rewritten and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l as-written -d 'do not look for a cheaper form first'
complete -c soa -n '__fish_seen_subcommand_from op' -l count -d 'print the additions, multiplications and divisions of every link and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l emit-c -d 'print a C function for this expression and model and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l axes -x -a 'link world' -d 'axes the counted or printed operations work in (default: each link\'s own)'
complete -c soa -n '__fish_seen_subcommand_from op' -l by-matrix -d 'count or print inv(Mass) x by forming, factoring and solving the mass matrix'
complete -c soa -n '__fish_seen_subcommand_from op' -l generic -d 'lengths and masses that happen to be 1 count as any number'
complete -c soa -n '__fish_seen_subcommand_from op' -l parts -x -a 'all (__soa_names --links)' -d 'count by parts of the work (rows of R87\'s tables), of one link or of all'
complete -c soa -n '__fish_seen_subcommand_from op' -l html -r -F -d 'with --explain: write a page with pictures to FILE, at the first state of --in'
complete -c soa -n '__fish_seen_subcommand_from op' -l to -x -d 'with --derive: how to get from the expression to this one'
complete -c soa -n '__fish_seen_subcommand_from op' -l jacobian -x -d 'the Jacobian of the vector EXPRESSION with respect to this part of the state'
complete -c soa -n '__fish_seen_subcommand_from op' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from identity' -l json -d 'the answer as a JSON object'
complete -c soa -n '__fish_seen_subcommand_from identity' -l trials -x -d 'random machines to try (default 20)'
complete -c soa -n '__fish_seen_subcommand_from identity' -l proof -d 'print the proof, step by step'
complete -c soa -n '__fish_seen_subcommand_from identity' -l list -d 'the papers\' identities by name; with --proof each is proved, with --trials tried too'
complete -c soa -n '__fish_seen_subcommand_from identity' -l seed -x -d 'of the random machines and states (default 1)'
complete -c soa -n '__fish_seen_subcommand_from identity' -l all-models -d 'try shipped models of every family in turn, not only random trees'
complete -c soa -n '__fish_seen_subcommand_from identity' -l rules -d 'the rules by which soa op --derive rewrites, by name'
complete -c soa -n '__fish_seen_subcommand_from gen' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from gen' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from gen' -l no-friction -d 'no friction in the joints; springs and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from gen' -l no-springs -d 'no springs in the joints; friction and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from gen' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from gen' -l out -s o -r -F -d 'the C file to write (needed)'
complete -c soa -n '__fish_seen_subcommand_from gen' -l header -r -F -d 'write the functions\' prototypes too, for C and C++'
complete -c soa -n '__fish_seen_subcommand_from gen' -l prefix -x -d 'beginning of the functions\' names (default: the model\'s name)'
complete -c soa -n '__fish_seen_subcommand_from gen' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from save' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from save' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from save' -l no-friction -d 'no friction in the joints; springs and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from save' -l no-springs -d 'no springs in the joints; friction and rotors stay'
complete -c soa -n '__fish_seen_subcommand_from save' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from save' -l out -s o -r -F -d 'where to write it, by custom with the ending .soam (needed)'
complete -c soa -n '__fish_seen_subcommand_from save' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from models' -l names -d 'only the names of the models, one per line'
complete -c soa -n '__fish_seen_subcommand_from models' -l scenarios -d 'only the names of the scenarios, one per line'
complete -c soa -n '__fish_seen_subcommand_from models' -l print -r -F -a '(__soa_scenarios)' -d 'the file of a shipped scenario, to begin one\'s own with'
complete -c soa -n '__fish_seen_subcommand_from models' -l keys -d 'every key of scenario files, by section; docs/scenarios.md says what they mean'
complete -c soa -n '__fish_seen_subcommand_from sim' -l out -s o -r -F -d 'record the run in this journal (soa export turns it into CSV or HDF5)'
complete -c soa -n '__fish_seen_subcommand_from sim' -l summary -r -F -d 'write every figure of the summary as JSON, also when the run fails'
complete -c soa -n '__fish_seen_subcommand_from sim' -l resume -r -F -d 'go on with a journal whose run was stopped or killed; no SCENARIO then'
complete -c soa -n '__fish_seen_subcommand_from sim' -l until -x -d 'stop at this time, s, instead of the scenario\'s duration'
complete -c soa -n '__fish_seen_subcommand_from sim' -l seed -x -d 'another seed for noise and variations'
complete -c soa -n '__fish_seen_subcommand_from sim' -l case -x -d 'case N of the scenario\'s sweep, its quantities drawn as soa sweep draws them'
complete -c soa -n '__fish_seen_subcommand_from sim' -l diagram -r -F -d 'write the supervisor\'s phases as Graphviz text, and do not run'
complete -c soa -n '__fish_seen_subcommand_from sim' -l strict -d 'exit with 1 if the run ends with a warning'
complete -c soa -n '__fish_seen_subcommand_from sim' -l quiet -s q -d 'no progress and no summary on the terminal'
complete -c soa -n '__fish_seen_subcommand_from sim' -F -a '(__soa_scenarios)'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l cases -s n -x -d 'how many cases, numbered from 0 (default 100)'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l out -s o -r -F -d 'the table, CSV (default: the scenario\'s name with -sweep.csv)'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l jobs -s j -x -d 'threads (default: all cores; under mpirun one per rank)'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l resume -d 'go on with a sweep that was stopped or killed: its finished cases are kept'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l seed -x -d 'another seed than the scenario\'s: other draws, other noise'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l strict -d 'exit with 1 if a case ends with a warning'
complete -c soa -n '__fish_seen_subcommand_from sweep' -l quiet -s q -d 'no progress and no summary on the terminal'
complete -c soa -n '__fish_seen_subcommand_from sweep' -F -a '(__soa_scenarios)'
complete -c soa -n '__fish_seen_subcommand_from export' -l out -s o -r -F -d 'FILE.h5 or FILE.csv, or - for CSV on standard output (default: LOG\'s name with .h5)'
complete -c soa -n '__fish_seen_subcommand_from export' -l from -x -d 'from this time on, in s'
complete -c soa -n '__fish_seen_subcommand_from export' -l to -x -d 'up to this time'
complete -c soa -n '__fish_seen_subcommand_from export' -l signals -x -d 'only these, comma-separated; * and ? stand for any text and any letter'
complete -c soa -n '__fish_seen_subcommand_from export' -l events -d 'CSV: the table of events instead of the samples'
complete -c soa -n '__fish_seen_subcommand_from export' -l list -d 'write nothing: say what the journal holds'
complete -c soa -n '__fish_seen_subcommand_from export' -F
complete -c soa -n '__fish_seen_subcommand_from view' -l open -d 'open the page in the browser (xdg-open)'
complete -c soa -n '__fish_seen_subcommand_from view' -l record -s o -r -F -d 'keep the record of a live run in this journal, a new file; a reset begins LOG-2'
complete -c soa -n '__fish_seen_subcommand_from view' -l until -x -d 'a live run ends at this time, s, instead of the scenario\'s duration'
complete -c soa -n '__fish_seen_subcommand_from view' -l speed -x -d 'times real time, 0: as fast as it goes; default 1'
complete -c soa -n '__fish_seen_subcommand_from view' -l paused -d 'a live run waits until it is started in the page; models always do'
complete -c soa -n '__fish_seen_subcommand_from view' -l seed -x -d 'another seed for noise and variations'
complete -c soa -n '__fish_seen_subcommand_from view' -l case -x -d 'case N of the scenario\'s sweep'
complete -c soa -n '__fish_seen_subcommand_from view' -l floating -d 'a MODEL\'s root link floats'
complete -c soa -n '__fish_seen_subcommand_from view' -l history -x -d 'without --record, pause a live run when its record has this size; default 1000'
complete -c soa -n '__fish_seen_subcommand_from view' -l port -x -d 'listen on this port; default: one that is free'
complete -c soa -n '__fish_seen_subcommand_from view' -l listen -x -d 'listen on this IPv4 address instead of 127.0.0.1; without the token no page is served'
complete -c soa -n '__fish_seen_subcommand_from view' -l token-file -r -F -d 'take the token from the first line of this file instead of drawing one'
complete -c soa -n '__fish_seen_subcommand_from view' -l once -d 'end when the last page has been closed'
complete -c soa -n '__fish_seen_subcommand_from view' -F -a '(__soa_scenarios; __soa_models)'
complete -c soa -n '__fish_seen_subcommand_from report' -l out -s o -r -F -d 'where it goes (default: LOG\'s name with .html); - for standard output'
complete -c soa -n '__fish_seen_subcommand_from report' -l quiet -s q -d 'no progress, and nothing said when all went well'
complete -c soa -n '__fish_seen_subcommand_from report' -F
complete -c soa -n '__fish_seen_subcommand_from plot' -l out -s o -r -F -d 'FILE.svg, FILE.pdf or FILE.png (default: LOG\'s name with .svg)'
complete -c soa -n '__fish_seen_subcommand_from plot' -l from -x -d 'from this time on, in s'
complete -c soa -n '__fish_seen_subcommand_from plot' -l to -x -d 'up to this time'
complete -c soa -n '__fish_seen_subcommand_from plot' -l title -x -d 'a line above'
complete -c soa -n '__fish_seen_subcommand_from plot' -l columns -x -d 'panels side by side, 1 to 4 (default 1)'
complete -c soa -n '__fish_seen_subcommand_from plot' -l width -x -d 'width of the picture, 60 to 1000 mm (default 170)'
complete -c soa -n '__fish_seen_subcommand_from plot' -l dpi -x -d 'PNG: dots per inch, 50 to 1200 (default 300)'
complete -c soa -n '__fish_seen_subcommand_from plot' -l no-phases -d 'without the supervisor\'s phases behind the curves'
complete -c soa -n '__fish_seen_subcommand_from plot' -F
complete -c soa -n '__fish_seen_subcommand_from drop' -l out -s o -r -F -d 'where the results go; made if missing (default: here)'
complete -c soa -n '__fish_seen_subcommand_from drop' -l seconds -x -d 'how long it falls (default 2)'
complete -c soa -n '__fish_seen_subcommand_from drop' -l model -r -F -a '(__soa_models)' -d 'what falls: any model that soa info takes (default puma560)'
complete -c soa -n '__fish_seen_subcommand_from drop' -l q -x -d 'where it starts (default: pose qn of the PUMA 560, else the neutral one)'
complete -c soa -n '__fish_seen_subcommand_from demo' -l out -s o -r -F -d 'where the results go; made if missing (default build/demo)'
complete -c soa -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c soa -n '__fish_seen_subcommand_from help' -a 'info check compute ik op identity gen save models sim sweep export view report plot drop demo completion version help'
