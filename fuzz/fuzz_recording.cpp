// SPDX-License-Identifier: MIT
// Any bytes given as a recording must be read completely or rejected. They are what follows the key; magic and key are put before them, and
// checksums are ignored, so that changes reach the code behind.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "read_kernel.hpp"
#include "workload/record/recording_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mergelane;
    constexpr std::string_view kKey = "key";
    static const std::string head = [&] {
        const std::string name = "/tmp/fuzz_recording." + std::to_string(::getpid());
        record::RecordingWriter(name, kKey).finish();
        std::string bytes(16 + kKey.size(), '\0');
        std::ifstream(name, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        ::unlink(name.c_str());
        return bytes;
    }();
    const int file = file_of(head + std::string(reinterpret_cast<const char*>(data), size));
    try {
        const auto reader = record::RecordingReader::open("/proc/self/fd/" + std::to_string(file), kKey, record::Checksums::ignore);
        if (reader != nullptr) {
            while (const auto kernel = reader->next()) read_kernel(*kernel);
        }
    } catch (const InputError& error) {
        check_message(error);
    }
    ::close(file);
    return 0;
}
