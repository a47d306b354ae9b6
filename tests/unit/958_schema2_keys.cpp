// SPDX-License-Identifier: MIT
// Hashes of machines as commit e7d8077 made them, for stores of record schema 2.
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "runs/schema2_keys.hpp"

namespace mergelane {
namespace {

struct OldHash {
    const char* gpu;
    std::vector<std::string> overrides;
    const char* hash;
};

const OldHash kOldHashes[] = {
    {"dcl1-80", {}, "692a7da68cfc6bef06d633475e265783"},
    {"gtx1080", {}, "76ac170750896aa26ccd21a945c2f4a1"},
    {"gtx480-hotclock", {}, "02d493effd9e14259e9d5763fc2c8726"},
    {"gtx480", {}, "4c2b45dea423ff8fd11dbcbe01aa1250"},
    {"gtx570-16k", {}, "ae1a82e24fa5bfeba85c93f7da2e0cba"},
    {"gtx570", {}, "7b4502e7e5ee6a05b95e3a7d5318090f"},
    {"gtx980", {}, "1ff5bd7768cfd02965a17e87122e4291"},
    {"icc60-gpgpusim", {}, "7e1241386fb208199c889a5eb3c016b5"},
    {"icc60", {}, "5c9aae0050c7c4cbf1cd61d93a1be05e"},
    {"k40-16k", {}, "aada05fa25e8309905ffc9ce5cb7f915"},
    {"k40", {}, "d276888bf26b8e789a59bdb6ba414a79"},
    {"pkt28-open", {}, "d2b640ecbad7168d21be693376c992c6"},
    {"pkt28", {}, "6e19e280b3e277eb89a6a82fd97f7f81"},
    {"v100", {}, "542b709e212ce601c911f049a9a95beb"},
    {"icc60", {"cluster.icc.enabled=true", "cluster.icc.entries=16"}, "e27a99d0d0febd9e19b46758e6963a6f"},
    {"k40", {"lsu.front=warp_pool", "sm.shared_path=own", "lsu.warp_pool.merges=8"}, "1409df820d30967ba71427f87eb266c2"},
    {"dcl1-80", {"dcl1.enabled=true", "dcl1.sets=local"}, "b93fa8f1ecc52c48da3db9c2d2f96b10"},
    {"gtx570", {"dispatch.transform=agents", "clustering.agents=2"}, "ee87040e36b23c30286ed1e946cac5e8"},
    {"pkt28", {"noc.coalescing.enabled=true", "l2.enabled=true"}, "9eedaf7088548a198d6d719877fb5aaa"},
    {"pkt28", {"noc.meter.enabled=true", "dram.meter.enabled=true"}, "875dd0977d8fcf8ecd747c1ccdecc088"},
};

TEST(Schema2, HashesAreThoseOfOld) {
    for (const OldHash& old : kOldHashes) {
        LoadedConfig config = load_config(old.gpu, old.overrides, {std::filesystem::path(MERGELANE_SOURCE_DIR) / "gpus"});
        std::vector<std::pair<std::string, std::string>> values = {{"a.later", "key"}, {"l1.size", "is no key"}};
        for (const SpecField& field : config.spec.fields().list()) values.emplace_back(field.key, field.value());
        EXPECT_EQ(runs_schema2::old_config_hash(values), old.hash) << old.gpu;
    }
}

}  // namespace
}  // namespace mergelane
