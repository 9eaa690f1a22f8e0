// Sends a dump to a service from an Android app.
fun record(module: Module, folder: File): Boolean =
    module.etdump(File.createTempFile("run", ".etdp", folder).path)

// True once the service has answered: the dump can be deleted. Otherwise call it again later.
fun upload(dump: File, service: String, token: String, manifest: JSONObject): Boolean {
    val digest = MessageDigest.getInstance("SHA-256").digest(dump.readBytes())
    val sha256 = digest.joinToString("") { "%02x".format(it) }
    // In ASCII, as headers are; JSON may escape everything else.
    val stated = manifest.toString().map { if (it in ' '..'~') "$it" else "\\u%04x".format(it.code) }
        .joinToString("")
    for (attempt in 0 until 6) {
        val request = URL("${service.trimEnd('/')}/v1/dumps/$sha256").openConnection() as HttpURLConnection
        try {
            request.requestMethod = "PUT"
            request.doOutput = true
            request.connectTimeout = 10_000
            request.readTimeout = 60_000
            request.setFixedLengthStreamingMode(dump.length())
            request.setRequestProperty("Authorization", "Bearer $token")
            request.setRequestProperty("Tracehouse-Manifest", stated)
            request.outputStream.use { out -> dump.inputStream().use { it.copyTo(out) } }
            when (request.responseCode) {
                200, 201, 400, 409, 413 -> return true // request.errorStream says why it is refused
                else -> {} // 408, 429, 502, 503, 507: the service is away, busy or out of disk space
            }
        } catch (lost: IOException) {
            Log.w("tracehouse", "upload", lost)
        } finally {
            request.disconnect()
        }
        Thread.sleep(1000L shl attempt)
    }
    return false
}
