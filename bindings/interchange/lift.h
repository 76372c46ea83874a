// Trace -> Plan. Every op of the trace becomes one op of the plan, or several where chunks of one block overlap without
// being equal: those are cut at each other's borders.
//
//  lanes     the trace's lanes; ops of one rank and lane run in the trace's order, whichever thread blocks they came
//  from waits     one for every pair of ops in different lanes of a rank that touch the same memory, one of them
//  writing scratch   one cell for each (address, chunk): memory that a file uses for one chunk after another becomes
//  two cells in place  plans must hold in place too. A file for calls out of place may write results over input that it
//  reads later,
//            were the two one memory; such results are kept in scratch and copied to their place at the end
//  skew      chosen here, where it fits: a message is read one slice after it was sent, as blocks that run ahead do
//  slots     the least number, from eight on, that the verifier's deadlock proof accepts
#pragma once

#include "bindings/interchange/trace.h"
#include "core/base/status.h"
#include "core/plan/plan.h"

namespace mycel {

/// Impossible where a channel would need more slots than a plan may have. Not yet verified.
StatusOr<Plan> LiftTrace(const Trace& trace);

}  // namespace mycel
