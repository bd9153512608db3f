#!/usr/bin/env python3
"""null_calls.py INCLUDE OUTPUT  writes the C of tests/model/test_null.c: one function for each public function of INCLUDE/soa/*.h.

Each calls its public function with valid arguments, or with NULL (EMPTY for inputs that are structs: NULL or one full of zeros) for
those pointers whose bit is set in `missing`.  What is valid: the objects of test_null.c (struct `f`), by type, by the name of the parameter, or by function.  A new public
function is called without a change here; a new kind of object has to be added below."""
import glob
import os
import re
import sys

# Objects of the library and inputs that must mean something.
BY_TYPE = {
    "soa_model": "f.model", "soa_work": "f.work", "soa_batch": "f.batch", "soa_tip_work": "f.tip_work", "soa_estimator": "f.estimator",
    "soa_constraints": "f.constraints", "soa_embedding": "f.embedding", "soa_grasp": "f.grasp",
    "soa_control": "f.control", "soa_machine": "f.machine", "soa_expr": "f.expr", "soa_plan": "f.plan",
    "soa_scalar_graph": "f.graph", "soa_divide": "f.divide", "soa_linkage_tree": "f.linkage", "soa_journal": "f.journal",
    "soa_log": "f.log", "soa_world": "f.world",
    "const soa_body_def": "f.bodies", "const soa_model_def": "&f.model_def", "const soa_frame": "&f.frame",
    "const soa_shape": "&f.shape", "const soa_bounds": "&f.bounds", "const soa_constraint_def": "&f.constraint_def",
    "const soa_constraint_capacity": "&f.capacity", "const soa_loop_def": "&f.loop",
    "const soa_closed_options": "&f.closed_options", "const soa_control_def": "&f.control_def",
    "const soa_joint_reference": "&f.joint_reference", "const soa_joint_gains": "&f.joint_gains",
    "const soa_motion": "&f.motion", "const soa_frame_law": "&f.frame_law", "const soa_frame_task": "&f.frame_task",
    "const soa_hybrid_law": "&f.hybrid_law", "const soa_coordination": "&f.coordination",
    "const soa_path_limits": "&f.path_limits", "soa_profile": "&f.profile", "const soa_supervisor": "&f.supervisor",
    "soa_supervisor_state": "&f.supervisor_state", "const soa_wrench": "&f.wrench", "const soa_task": "&f.task",
    "const soa_operational": "&f.operational", "const soa_embedding_def": "&f.embedding_def",
    "const soa_unknown_wrench": "&f.unknown", "const soa_tip": "&f.tip", "const soa_ik_target": "&f.ik_target", "const soa_link_def": "f.links",
    "const soa_edge_def": "f.edges", "const soa_linkage_def": "&f.linkage_def", "const soa_joint_def": "&f.joint",
    "const soa_contact_def": "&f.contact_def", "const soa_grasp_options": "&f.grasp_options",
    "soa_constraint_list": "&f.constraint_list", "const soa_signal": "&f.signal",
    "const soa_export_options": "&f.export_options", "const soa_dh_row": "&f.dh_row",
    "const soa_variable": "&f.variable", "const soa_scenario": "&f.scenario",
    "const soa_sim_options": "&f.sim_options", "const soa_closed_sim_options": "&f.closed_sim_options",
    "const soa_grasp_sim_options": "&f.grasp_sim_options", "const soa_world_pull": "&f.pull",
    "const soa_world_hold": "&f.hold", "const soa_run_options": "&f.run_options",
    "const soa_sweep_options": "&f.sweep_options", "const soa_plot": "&f.plot", "const unsigned char": "f.mask",
    "soa_lint_fn": "on_lint", "soa_derivation_fn": "on_derivation", "soa_plan_step_fn": "on_step",
    "soa_parallel_for": "run_all", "soa_parallel_task": "on_task", "soa_world_torque_fn": "on_torque",
    "soa_pair_wanted_fn": "on_pair",
}
BY_NAME = {"frame_C": "4", "R": "f.frame.R", "path": "f.new_path", "scale": "f.ones", "axis": "f.ones", "text": "f.urdf"}
BY_FUNCTION = {
    ("soa_urdf_read", "path"): "f.urdf_path", ("soa_urdf_read", "path"): "f.urdf_path",
    ("soa_urdf_lint", "path"): "f.urdf_path", ("soa_urdf_read_shapes", "path"): "f.urdf_path",
    ("soa_model_load", "path"): "f.saved_path", ("soa_hull_from_mesh", "path"): "f.mesh_path",
    ("soa_log_open", "path"): "f.log_path", ("soa_journal_reopen", "path"): "f.log_path",
    ("soa_world_resume", "path"): "f.log_path", ("soa_scenario_read", "path"): "f.scenario_path",
    ("soa_scenario_open", "spec"): '"grapple"', ("soa_model_open", "spec"): '"arm7"',
    ("soa_model_open", "spec"): '"four-bar"', ("soa_stock_model_create", "name"): '"arm7"',
    ("soa_stock_scenario_text", "name"): '"grapple"', ("soa_scenario_parse", "text"): "f.scenario_text",
    ("soa_scenario_parse", "size"): "strlen(f.scenario_text)", ("soa_expr_parse", "text"): '"inv(Mass) u"',
    ("soa_expr_parse_equation", "text"): '"H phi = H phi"', ("soa_expr_leaf", "name"): '"phi"',
    ("soa_expr_from_form", "name"): '"FD3"', ("soa_model_from_bytes", "buffer"): "f.model",
    ("soa_model_from_bytes", "size"): "soa_model_bytes(f.model)", ("soa_hull_from_points", "points"): "f.cube",
    ("soa_hull_from_points", "count"): "(number ? 8 : 0)", ("soa_model_find_frame", "name"): '"b"',
    ("soa_model_find_joint", "joint"): '"b"', ("soa_log_find_signal", "name"): '"x"', ("soa_dh_chain_append", "prefix"): '"dh"',
    ("soa_control_recursion", "rows"): "(number ? 6 : 0)", ("soa_control_recursion", "columns"): "(number ? 6 : 0)",
    ("soa_compliance", "frames"): "f.frames", ("soa_jjt", "frames"): "f.frames",
    ("soa_machine_create", "tips"): "f.frames", ("soa_rotation_to_vector", "R"): "f.frame.R",
    ("soa_world_restore_state", "memory"): "f.blob", ("soa_world_restore_state", "size"): "f.blob_size",
    ("soa_fd_constraint_forces_basis", "memory"): "f.force_memory",
    ("soa_machine_set_vector", "name"): '"u"', ("soa_machine_set_matrix", "name"): '"U"',
    ("soa_joint_force", "work"): "f.rnea_work", ("soa_smoother_read", "work"): "f.smoother_work",
    ("soa_smoother_covariance", "work"): "f.smoother_work", ("soa_closed_response", "work"): "f.closed_work",
    ("soa_model_binary_tree", "room"): "64", ("soa_urdf_shape_list_free", "list"): "&f.shape_list",
    ("soa_machine_set_matrix", "from"): "SOA_SPACE_TIP", ("soa_machine_set_matrix", "to"): "SOA_SPACE_TIP",
    ("soa_world_set_state", "q"): "soa_world_q(f.world)", ("soa_world_get_pair", "index"): "0",
    ("soa_constraints_joint_row", "coordinate"): "0", ("soa_world_get_shape", "index"): "0",
}
# Numbers that are not simply `number` (1, then 0).
NUMBERS = {"double": "0.1", "size_t": "ROOM", "float": "0.1f"}


def functions(include):
    for header in sorted(glob.glob(os.path.join(include, "soa", "*.h"))):
        text = re.sub(r"/\*.*?\*/", " ", open(header, encoding="utf-8").read(), flags=re.S)
        text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.M)
        declared = text.count("SOA_API ")
        found = re.findall(r"SOA_API\s+([^;{]*?)\b(soa_\w+)\s*\(([^;]*)\)\s*;", text, flags=re.S)
        if len(found) != declared:
            sys.exit(f"{header}: {declared} public functions, {len(found)} understood")
        for result, name, parameters in found:
            yield os.path.basename(header), " ".join(result.split()), name, " ".join(parameters.split())


def parameters_of(text):
    """(type, name, is a pointer) of each."""
    if text == "void":
        return
    for one in text.split(","):
        one = one.strip()
        pairs = re.match(r"int \(\*(\w+)\)\[2\]$", one)
        if pairs:
            yield "int (*)[2]", pairs.group(1), True
            continue
        m = re.match(r"(.*?)(\w+)((?:\[[^\]]*\])*)$", one)
        kind = m.group(1).strip()
        if m.group(3):
            kind += " *"
        yield kind, m.group(2), kind.endswith("*")


def valid(function, kind, name, at):
    if (function, name) in BY_FUNCTION:
        return BY_FUNCTION[function, name]
    if not kind.endswith(("*", "]")):
        if name in BY_NAME:
            return BY_NAME[name]
        return NUMBERS.get(kind, "SERIES" if kind == "soa_taylor" else "number")
    target = kind[:-1].strip()
    bare = target.removeprefix("const ").strip()
    for known in (target, bare):
        if known in BY_TYPE:
            return BY_TYPE[known]
    if target == "const char":
        return BY_NAME.get(name, '"name"')
    if target == "const double":
        return BY_NAME.get(name, "f.numbers")
    if target == "const float":
        return "f.floats"
    if target == "const int":
        return "f.frames"
    return f"room({at})"


def main():
    include, output = sys.argv[1:]
    lines, table = [], []
    for header, result, name, parameters in functions(include):
        arguments, missing, report, report_room = [], [], -1, -1
        for at, (kind, parameter, pointer) in enumerate(parameters_of(parameters)):
            value = valid(name, kind, parameter, at)
            if pointer:
                cast = f"({kind})" if not value.startswith("on_") and value != "run_all" else ""
                absent = f"EMPTY({kind})" if value.startswith("&f.") and kind.startswith("const ") else "NULL"
                arguments.append(f"MISSING({len(missing)}) ? {absent} : {cast}{value}")
                if kind == "soa_report *":
                    report, report_room = len(missing), at
                missing.append(parameter)
            elif kind == "soa_taylor":
                arguments.append("soa_taylor_variable(2, 0.5, 1)")
            else:
                arguments.append(f"({kind})({value})")
        if not missing:
            continue
        call = f"{name}({', '.join(arguments)})"
        lines.append(f"static int call_{name}(unsigned missing, int number) {{ /* {header} */")
        lines.append("    (void)number;")
        lines.append(f"    return (int){call};" if result == "soa_status" else f"    (void){call};\n    return -1;")
        lines.append("}")
        names = ", ".join(f'"{m}"' for m in missing)
        table.append(f'    {{"{name}", call_{name}, {len(missing)}, {{{names}}}, {report}, {report_room}}},')
    with open(output, "w", encoding="utf-8") as file:
        file.write("/* Made by tests/support/null_calls.py of the public headers. */\n")
        file.write("\n".join(lines))
        file.write("\nstatic const struct public_call {\n    const char *name;\n    int (*call)(unsigned, int);\n"
                   "    int pointers;\n    const char *pointer[16];\n"
                   "    int report;      /* which of the pointers is the report, -1: none */\n"
                   "    int report_room; /* the room that it is in */\n} public_calls[] = {\n")
        file.write("\n".join(table) + "\n};\n")


main()
