// SPDX-License-Identifier: MIT
// The whole command line, with additional mechanisms.
#include <mergelane_main.hpp>

#include "outside.hpp"

int main(int argc, char** argv) {
    mergelane::Registry registry = mergelane::built_in_registry();
    registry.set_edition("outside 1");
    outside::add_delay_front(registry);
    outside::add_request_counter(registry);
    outside::add_read_delay(registry);
    outside::add_emptiest_first(registry);
    outside::add_relay_network(registry);
    outside::add_split_fabric(registry);
    outside::add_reverse_transform(registry);
    return mergelane::mergelane_main(argc, argv, registry);
}
