// SPDX-License-Identifier: MIT
// Writes a running program's launches into a trace file. The command that started the program looks at what is left when it has ended:
// PATH when all went well, PATH.refused with a sentence when something cannot be recorded.
#pragma once

#include <memory>
#include <string>

#include "core/kernel.hpp"
#include "workload/tracefile/writer.hpp"

namespace mergelane::cudart {

class Recording {
public:
    Recording(std::string path, std::string program);

    /// Refuses if it cannot be written, or if another process of the program has begun a recording.
    void add(const KernelSource& kernel);
    /// The file appears under its name, if there were launches. Called at most once.
    void finish();
    /// There will be no trace: leaves the sentence for the command and ends the process, so that nobody waits in vain.
    [[noreturn]] void refuse(const std::string& why) const;

private:
    void begin();
    void leave_note(const std::string& why) const;

    std::string path_;
    std::string program_;
    std::unique_ptr<tracefile::TraceRecorder> recorder_;  ///< made at the first launch
    int process_;
    bool finished_ = false;
};

}  // namespace mergelane::cudart
