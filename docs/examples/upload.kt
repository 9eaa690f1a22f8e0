// Sends a dump to a service from an Android app.
fun record(module: Module, folder: File): Boolean =
    module.etdump(File.createTempFile("run", ".etdp", folder).path)

// True once the service has answered: the dump can be deleted. Otherwise call it again later.
fun upload(dump: File, service: String, token: String, manifest: JSONObject): Boolean {
    val boundary = UUID.randomUUID().toString()
    fun part(name: String) = "--$boundary\r\nContent-Disposition: form-data; name=\"$name\"\r\n\r\n"
    val before = "${part("manifest")}$manifest\r\n${part("dump")}".toByteArray()
    val after = "\r\n--$boundary--\r\n".toByteArray()
    for (attempt in 0 until 6) {
        val request = URL("${service.trimEnd('/')}/v1/dumps").openConnection() as HttpURLConnection
        try {
            request.requestMethod = "POST"
            request.doOutput = true
            request.connectTimeout = 10_000
            request.readTimeout = 60_000
            request.setFixedLengthStreamingMode(before.size + dump.length() + after.size)
            request.setRequestProperty("Authorization", "Bearer $token")
            request.setRequestProperty("Content-Type", "multipart/form-data; boundary=$boundary")
            request.outputStream.use { out ->
                out.write(before)
                dump.inputStream().use { it.copyTo(out) }
                out.write(after)
            }
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
