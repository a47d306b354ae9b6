// SPDX-License-Identifier: MIT
// The library in one include: read a configuration, make a workload, run it, print the result.
#pragma once

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/result.hpp"
#include "costing/energy_of_run.hpp"
#include "energy/cost_tables.hpp"
#include "profile/profile.hpp"
#include "report/report.hpp"
#include "sim/simulation.hpp"
#include "workload/accelsim/kernel_list.hpp"
#include "workload/ptx/manifest.hpp"
#include "workload/ptx/ptx.hpp"
#include "workload/suite/cache.hpp"
#include "workload/suite/ptx_executor.hpp"
#include "workload/synthetic.hpp"
#include "workload/tracefile/trace_file.hpp"
#include "workload/tracefile/writer.hpp"
