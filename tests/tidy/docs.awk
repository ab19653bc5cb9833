# SPDX-License-Identifier: Apache-2.0
# What a Markdown page says of other files; see docs.sh. Plain awk, since a bare Debian has mawk.
#   want=facts      lines `kind TAB file:line TAB text`; kinds: link (a relative target), path (a word in backticks), breach,
#                   same (first line, last line and file of a block that has to be the same as a file)
#   want=headings   the name that a link uses for each heading

function slug(text) {
  text = tolower(text)
  gsub(/`/, "", text)
  gsub(/[^a-z0-9 _-]/, "", text)
  gsub(/ /, "-", text)
  return text
}

function fact(kind, text) { printf "%s\t%s:%d\t%s\n", kind, FILENAME, FNR, text }

function tell_links(line,  target) {
  while (match(line, /\]\([^) ]+\)/)) {
    target = substr(line, RSTART + 2, RLENGTH - 3)
    line = substr(line, RSTART + RLENGTH)
    if (target !~ /^[a-z]+:/) fact("link", target)
  }
}

function tell_paths(line,  text) {
  while (match(line, /`[^`]+`/)) {
    text = substr(line, RSTART + 1, RLENGTH - 2)
    line = substr(line, RSTART + RLENGTH)
    if (text ~ /^[A-Za-z0-9_.*{},\/-]+$/) fact("path", text)
  }
}

function columns(line,  rest) {
  rest = line
  gsub(/[\200-\277]/, "", rest)  # A character counts once, whatever its bytes.
  return length(rest)
}

FNR == 1 { fenced = 0; same_as = "" }

/^<!-- same as [^ ]+ -->$/ { same_as = $4; next }

/^ *(```|~~~)/ {
  fenced = !fenced
  transcript = 0
  if (fenced) fence_line = FNR
  else if (same_as != "" && want == "facts") {
    fact("same", fence_line + 1 " " FNR - 1 " " same_as)
    same_as = ""
  }
  next
}

want == "headings" && !fenced && /^#+ / { sub(/^#+ /, ""); print slug($0) }
want == "headings" { next }

FILENAME ~ /life_of_a_request\.md$/ && /^## / { walking = /^## (In|And back)$/ }
walking && /^\| [0-9]/ && (split($0, cell, / *\| */) < 6 || cell[2] != ++steps || steps > 20 || cell[5] == "") {
  fact("breach", "a step needs the next number, at most 20, and its thread")
}

FILENAME == "README.md" && FNR == 121 { fact("breach", "longer than 120 lines") }
fenced && /^\$ / { transcript = 1 }  # What programs say is as wide as they say it.
(FILENAME == "README.md" || FILENAME ~ /^docs\//) && !/^\|/ && !/\]\(/ && !/https?:/ && !transcript && columns($0) > 100 {
  fact("breach", "longer than 100 columns")
}

fenced { next }
{ tell_links($0); tell_paths($0) }
