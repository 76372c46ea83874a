# The TSV of bench/compare/run as a table: the fastest time of each library, and how much slower the fastest peer is.
NR == 1 { next }
{
  key = $2 SUBSEP $5
  if (!(key in seen)) { seen[key] = 1; keys[++key_count] = key; ranks[key_count] = $2; bytes[key_count] = $5 }
  if (!($4 in engine_seen)) { engine_seen[$4] = 1; engines[++engine_count] = $4 }
  if (!((key, $4) in best) || $6 < best[key, $4]) best[key, $4] = $6
  collective = $1
}
function size_text(b) {
  if (b >= 1048576 && b % 1048576 == 0) return b / 1048576 "M"
  if (b >= 1024 && b % 1024 == 0) return b / 1024 "K"
  return b
}
function time_text(t) { return sprintf(t < 100 ? "%.2f" : "%.0f", t) }
END {
  printf "%s, float32, microseconds (fastest batch, slowest rank)\n", collective
  printf "%5s %8s", "ranks", "size"
  for (e = 1; e <= engine_count; ++e) printf " %12s", engines[e]
  printf "  %-24s\n", "fastest peer / mycel"
  for (k = 1; k <= key_count; ++k) {
    if (k > 1 && ranks[k] != ranks[k - 1]) print ""
    printf "%5d %8s", ranks[k], size_text(bytes[k])
    ours = best[keys[k], "mycel"]
    peer = ""
    for (e = 1; e <= engine_count; ++e) {
      t = best[keys[k], engines[e]]
      printf " %12s", t == "" ? "-" : time_text(t)
      if (engines[e] != "mycel" && t != "" && (peer == "" || t < best[keys[k], peer])) peer = engines[e]
    }
    if (ours != "" && peer != "") printf "  %6.2f (%s)", best[keys[k], peer] / ours, peer
    printf "\n"
  }
}
