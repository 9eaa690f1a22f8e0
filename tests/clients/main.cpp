// Sends a file with the client of docs/examples, which is prepended. Arguments: FILE URL TOKEN MANIFEST.
#include <fstream>
#include <iterator>

int main(int, char** arguments) {
    std::ifstream file(arguments[1], std::ios::binary);
    const std::string dump{std::istreambuf_iterator<char>(file), {}};
    return upload(dump.data(), dump.size(), arguments[2], arguments[3], arguments[4]) ? 0 : 1;
}
