# brew install --HEAD deploy/homebrew/tracehouse.rb; OWNER is where your copy of tracehouse is.
class Tracehouse < Formula
  desc "Warehouse and streaming service for ExecuTorch ETDump traces"
  homepage "https://github.com/OWNER/tracehouse"
  license all_of: ["BSD-3-Clause", "MIT"]
  head "https://github.com/OWNER/tracehouse.git", branch: "main"

  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "--constraint", "requirements.txt", ".[mcp,serve]"
    bin.install_symlink libexec/"bin/tracehouse"
    generate_completions_from_executable(bin/"tracehouse", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tracehouse --version")
    system bin/"tracehouse", "doctor"
  end
end
