// Sends a dump to a service, with libcurl.
#include <curl/curl.h>

#include <chrono>
#include <string>
#include <thread>

// True once the service (http://farm:8080, without a slash at the end) has answered: the dump can be
// deleted. Otherwise call it again later.
bool upload(const void* dump, size_t size, const std::string& service, const std::string& token,
            const std::string& manifest) {
    for (int attempt = 0; attempt < 6; ++attempt) {
        CURL* request = curl_easy_init();
        curl_mime* form = curl_mime_init(request);
        curl_mimepart* part = curl_mime_addpart(form);
        curl_mime_name(part, "dump");
        curl_mime_filename(part, "run.etdp");
        curl_mime_data(part, static_cast<const char*>(dump), size);
        part = curl_mime_addpart(form);
        curl_mime_name(part, "manifest");
        curl_mime_data(part, manifest.c_str(), CURL_ZERO_TERMINATED);
        curl_slist* headers = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
        curl_easy_setopt(request, CURLOPT_URL, (service + "/v1/dumps").c_str());
        curl_easy_setopt(request, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(request, CURLOPT_MIMEPOST, form);
        curl_easy_setopt(request, CURLOPT_TIMEOUT, 60L);
        curl_easy_setopt(request, CURLOPT_WRITEDATA, stderr);  // the answer says why it is refused
        long status = 0;
        if (curl_easy_perform(request) == CURLE_OK)
            curl_easy_getinfo(request, CURLINFO_RESPONSE_CODE, &status);
        curl_slist_free_all(headers);
        curl_mime_free(form);
        curl_easy_cleanup(request);
        for (long answered : {200, 201, 400, 409, 413})
            if (status == answered) return true;
        // 408, 429, 502, 503, 507: the service is away, busy or out of disk space
        std::this_thread::sleep_for(std::chrono::seconds(1 << attempt));
    }
    return false;
}
