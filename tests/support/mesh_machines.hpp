// SPDX-License-Identifier: MIT
// Whole machines on a mesh, and a stream that is short enough to run on many of them.
#pragma once

#include "machines.hpp"
#include "noc/mesh_spec.hpp"
#include "run.hpp"
#include "workload/synthetic.hpp"

namespace mergelane::testing {

inline MachineSpec on_mesh(MachineSpec s, bool shared = false) {
    s.noc.kind = "mesh";
    s.section<MeshSpec>().shared = shared;
    return valid(s);
}

inline SyntheticParams short_stream() {
    SyntheticParams p = synthetic_defaults("stream");
    p.ctas = 24;
    p.warps = 4;
    p.iterations = 8;
    return p;
}

inline RunResult stream_on(const MachineSpec& s) {
    return run_on(s, *make_synthetic("stream", short_stream()));
}

}  // namespace mergelane::testing
