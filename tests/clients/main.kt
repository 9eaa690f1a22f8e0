// Sends a file with the client of docs/examples, which is appended. Arguments: FILE URL TOKEN MANIFEST.
import java.io.File
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import java.util.UUID

// Stand-ins for classes of Android and ExecuTorch.
class JSONObject(private val text: String) {
    override fun toString() = text
}

object Log {
    fun w(tag: String, message: String, error: Throwable) = System.err.println("$tag: $message: $error")
}

class Module(private val dump: File) {
    fun etdump(path: String): Boolean = dump.copyTo(File(path), overwrite = true).exists()
}

fun main(arguments: Array<String>) {
    val (file, service, token, manifest) = arguments
    val folder = createTempDir()
    check(record(Module(File(file)), folder))
    val dump = folder.listFiles()!!.single { it.name.startsWith("run") }
    System.exit(if (upload(dump, service, token, JSONObject(manifest))) 0 else 1)
}
