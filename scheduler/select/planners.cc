#include "scheduler/select/planners.h"

#include <string>

namespace mycel {

StatusOr<const Planner*> FindPlanner(std::string_view name) {
  std::string names;
  for (const Planner* planner : AllPlanners()) {
    if (planner->name() == name) return planner;
    names += " " + std::string(planner->name());
  }
  return InvalidArgument("unknown planner '" + std::string(name) + "'; use auto or one of:" + names);
}

}  // namespace mycel
