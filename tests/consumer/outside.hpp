// SPDX-License-Identifier: MIT
// User-defined mechanisms in their own files, without any edit of Mergelane's tree.
#pragma once

#include <mergelane.hpp>

namespace outside {

void add_delay_front(mergelane::Registry& registry);
void add_request_counter(mergelane::Registry& registry);
void add_read_delay(mergelane::Registry& registry);
void add_emptiest_first(mergelane::Registry& registry);
void add_relay_network(mergelane::Registry& registry);
void add_split_fabric(mergelane::Registry& registry);
void add_reverse_transform(mergelane::Registry& registry);

}  // namespace outside
