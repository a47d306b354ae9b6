// SPDX-License-Identifier: MIT
#include "report/html_report.hpp"

#include <nlohmann/json.hpp>

namespace mergelane {

std::string html_report(const nlohmann::json& results) {
    std::string text;
    for (const char c : results.dump(1)) {
        if (c == '<')
            text += "&lt;";
        else if (c == '&')
            text += "&amp;";
        else
            text += c;
    }
    return "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Mergelane</title>\n<pre>" + text + "</pre></html>\n";
}

}  // namespace mergelane
