// SPDX-License-Identifier: MIT
#include "mergelane_main.hpp"

int main(int argc, char** argv) {
    return mergelane::mergelane_main(argc, argv);
}
