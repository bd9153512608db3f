# fish completion for soa, made by `soa completion fish`.
# Use: soa completion fish | source, or put it in ~/.config/fish/completions/soa.fish

function __soa_models
    soa models 2>/dev/null | string replace -r '^([^\s:]+:?)\S*\s+' '$1\t'
end

# The comma-separated list of --fn; after pose: and the like, the links of the model.
function __soa_list
    set -l token (commandline -ct)
    set -l head (string match -r '^.*,' -- $token)
    set -l tail (string replace -r '^.*,' '' -- $token)
    set -l names rnea bias gravity aba mass mass_inv pose jacobian jdot_v compliance operational energy com momentum daba_dq daba_dv drnea_dq drnea_dv closed assemble closed_id
    if string match -qr '^(pose|jacobian|jdot_v|compliance|operational):' -- $tail
        set -l words (commandline -opc)
        set head "$head"(string replace -r ':.*' ':' -- $tail)
        set names (soa info $words[3] --links 2>/dev/null)
    end
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
complete -c soa -n __fish_use_subcommand -a models -d 'Lists the shipped models'
complete -c soa -n __fish_use_subcommand -a export -d 'Writes the record of a run as HDF5 or CSV'
complete -c soa -n __fish_use_subcommand -a demo -d 'Drops a PUMA 560 from rest and writes a table and a picture of its motion'
complete -c soa -n __fish_use_subcommand -a completion -d 'Prints the completion script of a shell: bash, zsh or fish'
complete -c soa -n __fish_use_subcommand -a version -d 'Prints the versions of the program and its library'
complete -c soa -n __fish_use_subcommand -a help -d 'Explains a command, with examples'
complete -c soa -n '__fish_seen_subcommand_from info' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from info' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from info' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from info' -l json -d 'one JSON object: nq nv bodies joints mimic frames constraints mass gravity'
complete -c soa -n '__fish_seen_subcommand_from info' -l links -d 'only the names of the links, one per line'
complete -c soa -n '__fish_seen_subcommand_from info' -l tree -d 'the spanning tree with its cut joints, and WD89\'s binary tree'
complete -c soa -n '__fish_seen_subcommand_from info' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from check' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from compute' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from compute' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from compute' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from compute' -l fn -x -a '(__soa_list)' -d 'what to compute, comma-separated (needed)'
complete -c soa -n '__fish_seen_subcommand_from compute' -l in -r -F -d 'read from FILE instead of standard input'
complete -c soa -n '__fish_seen_subcommand_from compute' -l out -r -F -d 'write to FILE instead of standard output; it appears when all is done'
complete -c soa -n '__fish_seen_subcommand_from compute' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from ik' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from ik' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from ik' -l in -r -F -d 'read targets from FILE instead of standard input'
complete -c soa -n '__fish_seen_subcommand_from ik' -l tip -x -d 'the link that a target without a link\'s name is for (default: the link of the last joint)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l tolerance -x -d 'the residual that is good enough (default 1e-9)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l steps -x -d 'at most N steps a line (default 200)'
complete -c soa -n '__fish_seen_subcommand_from ik' -l no-limits -d 'joints may leave their limits'
complete -c soa -n '__fish_seen_subcommand_from ik' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from op' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from op' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from op' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from op' -l in -r -F -d 'read states from FILE instead of standard input'
complete -c soa -n '__fish_seen_subcommand_from op' -l tip -x -d 'the frames of tip space (default: the link of the last joint)'
complete -c soa -n '__fish_seen_subcommand_from op' -l dense -d 'the matrix, formed by dense arithmetic, instead of running sweeps'
complete -c soa -n '__fish_seen_subcommand_from op' -l explain -d 'print the sweeps as recursions and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l derive -d 'print how the expression was rewritten and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l as-written -d 'do not look for a cheaper form first'
complete -c soa -n '__fish_seen_subcommand_from op' -l count -d 'print the additions, multiplications and divisions of every link and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l emit-c -d 'print a C function for this expression and model and stop'
complete -c soa -n '__fish_seen_subcommand_from op' -l axes -x -d 'axes the counted or printed operations work in (default: each link\'s own)'
complete -c soa -n '__fish_seen_subcommand_from op' -l by-matrix -d 'count or print inv(Mass) x by forming, factoring and solving the mass matrix'
complete -c soa -n '__fish_seen_subcommand_from op' -l generic -d 'lengths and masses that happen to be 1 count as any number'
complete -c soa -n '__fish_seen_subcommand_from op' -l parts -x -d 'count by parts of the work (rows of R87\'s tables), of one link or of all'
complete -c soa -n '__fish_seen_subcommand_from op' 
complete -c soa -n '__fish_seen_subcommand_from identity' -l json -d 'the answer as a JSON object'
complete -c soa -n '__fish_seen_subcommand_from identity' -l trials -x -d 'random machines to try (default 20)'
complete -c soa -n '__fish_seen_subcommand_from identity' -l proof -d 'print the proof, step by step'
complete -c soa -n '__fish_seen_subcommand_from identity' 
complete -c soa -n '__fish_seen_subcommand_from gen' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from gen' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from gen' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from gen' -l output -s o -r -F -d 'the C file to write (needed)'
complete -c soa -n '__fish_seen_subcommand_from gen' -l prefix -x -d 'beginning of the functions\' names (default: the model\'s name)'
complete -c soa -n '__fish_seen_subcommand_from gen' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from save' -l floating -d 'put a free joint named \'root\' under the root link'
complete -c soa -n '__fish_seen_subcommand_from save' -l ideal -d 'no friction, springs or rotor inertia; mimic joints independent'
complete -c soa -n '__fish_seen_subcommand_from save' -l gravity -x -d 'gravity in m/s^2, instead of the model\'s own'
complete -c soa -n '__fish_seen_subcommand_from save' -l output -s o -r -F -d 'where to write it, by custom with the ending .soam (needed)'
complete -c soa -n '__fish_seen_subcommand_from save' -F -a '(__soa_models)'
complete -c soa -n '__fish_seen_subcommand_from models' -l names -d 'only the names, one per line'
complete -c soa -n '__fish_seen_subcommand_from export' -l output -s o -r -F -d 'FILE.h5 or FILE.csv, or - for CSV on standard output (default: LOG\'s name with .h5)'
complete -c soa -n '__fish_seen_subcommand_from export' -l from -x -d 'from this time on, in s'
complete -c soa -n '__fish_seen_subcommand_from export' -l to -x -d 'up to this time'
complete -c soa -n '__fish_seen_subcommand_from export' -l signals -x -d 'only these, comma-separated; * and ? stand for any text and any letter'
complete -c soa -n '__fish_seen_subcommand_from export' -l events -d 'CSV: the table of events instead of the samples'
complete -c soa -n '__fish_seen_subcommand_from export' -l list -d 'write nothing: say what the journal holds'
complete -c soa -n '__fish_seen_subcommand_from export' -F
complete -c soa -n '__fish_seen_subcommand_from demo' -l out -s o -x -d 'where the results go; made if missing (default build/demo)'
complete -c soa -n '__fish_seen_subcommand_from demo' -l seconds -x -d 'how long it falls (default 2)'
complete -c soa -n '__fish_seen_subcommand_from demo' -l model -r -F -a '(__soa_models)' -d 'what falls: any model that soa info takes (default puma560)'
complete -c soa -n '__fish_seen_subcommand_from demo' -l q -x -d 'where it starts (default: pose qn of the PUMA 560, else the neutral one)'
complete -c soa -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c soa -n '__fish_seen_subcommand_from help' -a 'info check compute ik op identity gen save models export demo completion version help'
