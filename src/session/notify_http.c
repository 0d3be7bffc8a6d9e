#include "session/notify.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "tare_build.h"

#define CURL_DISABLE_TYPECHECK

#include <curl/curl.h>
#include <dlfcn.h>
#include <string.h>

/* What a server answers is of no use; a long answer is as good as a short one. */
static size_t ignore_answer(char *bytes, size_t size, size_t count, void *context)
{
    (void)bytes;
    (void)context;
    return size * count;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    AUTO_FREE char *line = mem_printf("%s%s", name, value);
    struct curl_slist *longer = curl_slist_append(list, line);
    return longer ? longer : list;
}

/* Failures of the name, the connection or the time; a certificate that is not trusted will not be so later. */
static bool may_work_later(CURLcode code)
{
    return code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY || code == CURLE_COULDNT_CONNECT ||
           code == CURLE_OPERATION_TIMEDOUT || code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR ||
           code == CURLE_RECV_ERROR || code == CURLE_PARTIAL_FILE || code == CURLE_SSL_CONNECT_ERROR;
}

static void set_options(CURL *curl, const struct notify_post *post, struct curl_slist *headers)
{
    curl_easy_setopt(curl, CURLOPT_URL, post->url);
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L);
    if (post->ca_file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, post->ca_file);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(post->timeout_s * 1000));
    curl_easy_setopt(curl, CURLOPT_USERAGENT, TARE_NAME "/" TARE_VERSION);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, post->body);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)post->length);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore_answer);
}

/* 2xx, or why not. */
static bool judge(long status, bool *again, struct err *err)
{
    *again = status == 408 || status == 429 || status >= 500;
    if (status >= 200 && status < 300)
        return true;
    if (status >= 300 && status < 400)
        return err_set(
            err, "the server answered %ld: it redirects, which is not followed; give the URL that it leads to", status);
    return err_set(err, "the server answered %ld%s", status,
                   status == 401 || status == 403 ? " (not allowed: look at the token)"
                   : status == 404                ? " (there is nothing at this URL)"
                                                  : "");
}

bool notify_http(const struct notify_post *post, bool *again, struct err *err)
{
    *again = false;
    if (!dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL)) /* stays: what follows calls it */
        return err_set(err, "libcurl.so.4 is not installed (Debian: libcurl4)");
    struct curl_slist *headers = add_header(NULL, "Expect:", ""); /* a body of any length is sent at once */
    for (size_t i = 0; i < post->headers.count; i++)
        headers = add_header(headers, "", post->headers.items[i]);
    if (post->token)
        headers = add_header(headers, "Authorization: Bearer ", post->token);
    CURL *curl = curl_easy_init();
    if (!curl) {
        curl_slist_free_all(headers);
        return err_set(err, "libcurl did not start");
    }
    long status = 0;
    set_options(curl, post, headers);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
    if (code == CURLE_OK)
        return judge(status, again, err);
    *again = may_work_later(code);
    /* Of a code, without the URL, which may be a secret. */
    return err_set(err, "%s", curl_easy_strerror(code));
}
