#include "transport/discover/ask.h"

#include "core/base/host_name.h"
#include "mycel_config.h"
#include "transport/discover/gpu_libraries.h"

#if MYCEL_HAVE_HWLOC
#include <hwloc.h>
#endif
#if MYCEL_HAVE_IBVERBS
#include <infiniband/verbs.h>
#endif

namespace mycel {
namespace {

#if MYCEL_HAVE_HWLOC

void AskHwloc(MachineAnswers* answers) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) {
    answers->notes.emplace_back("hwloc does not start: CPUs are not described");
    return;
  }
  if (hwloc_topology_load(topology) != 0) {
    answers->notes.emplace_back("hwloc cannot read this machine: CPUs are not described");
    hwloc_topology_destroy(topology);
    return;
  }
  MachineCpus& cpus = answers->cpus;
  cpus.packages = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE);
  cpus.cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  cpus.threads = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
  for (hwloc_obj_t node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, nullptr); node != nullptr;
       node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) {
    char list[1024] = "";
    hwloc_bitmap_list_snprintf(list, sizeof list, node->cpuset);
    cpus.numa_nodes.push_back(
        {static_cast<int32_t>(node->os_index), list, static_cast<int64_t>(node->attr->numanode.local_memory)});
  }
  hwloc_topology_destroy(topology);
}

#else

void AskHwloc(MachineAnswers* answers) {
  answers->notes.emplace_back("this Mycel was built without hwloc: CPUs are not described");
}

#endif

#if MYCEL_HAVE_IBVERBS

void AskPorts(ibv_context* context, const std::string& device, MachineAnswers* answers) {
  ibv_device_attr attributes = {};
  if (ibv_query_device(context, &attributes) != 0) return;
  for (int port = 1; port <= attributes.phys_port_cnt; ++port) {
    ibv_port_attr of_port = {};
    if (ibv_query_port(context, static_cast<uint8_t>(port), &of_port) != 0) continue;
    // IBV_MTU_256 is 1, and each further one is twice the last.
    answers->mtu_of_port[device + ":" + std::to_string(port)] = 128 << of_port.active_mtu;
  }
}

void AskVerbs(MachineAnswers* answers) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr) return;  // no kernel support: then /sys has no devices either
  for (int i = 0; i < count; ++i) {
    const std::string device = ibv_get_device_name(devices[i]);
    ibv_context* context = ibv_open_device(devices[i]);
    if (context == nullptr) {
      answers->notes.push_back(device + ": cannot be opened by this process (see the rights of /dev/infiniband)");
      continue;
    }
    AskPorts(context, device, answers);
    ibv_close_device(context);
  }
  ibv_free_device_list(devices);
}

#else

void AskVerbs(MachineAnswers* answers) {
  answers->notes.emplace_back(
      "this Mycel was built without libibverbs: whether RDMA devices can be opened is not known");
}

#endif

}  // namespace

MachineAnswers AskLibraries() {
  MachineAnswers answers;
  answers.host = HostName();
  AskHwloc(&answers);
  AskVerbs(&answers);
  AskNvml(&answers);
  AskRocmSmi(&answers);
  return answers;
}

}  // namespace mycel
