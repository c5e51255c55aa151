# Runs one command on the far side and ends all its processes. Before these lines the caller defines emend_mark,
# emend_nonce, emend_directory, emend_command, emend_exports and emend_limit (in seconds).
#
# Standard input is the life line: a line on it, or its end, ends the command. So nothing is left when the connection
# breaks. The limit ends the command if the break is not noticed here. The last line on standard error reports the end.
exec 3<&0 4>&2 0</dev/null 2>/dev/null

emend_waited=

emend_say() {
  printf '\001%s %s %s\001' "$emend_nonce" "$1" "$2" >&4
  exit 0
}

# Prints the living processes of the command: its leader, those of its session and group, and those with its mark.
emend_members() {
  if [ -z "$emend_waited" ] && kill -0 "$emend_leader"; then echo "$emend_leader"; fi
  if [ -r /proc/self/stat ]; then
    for emend_stat in /proc/[0-9]*/stat; do
      IFS= read -r emend_line <"$emend_stat" || continue
      # The name in parentheses may hold any character. State, parent, group and session follow.
      set -- "${emend_line%% *}" ${emend_line##*) }
      case $2 in Z | X) continue ;; esac
      if [ "$4" = "$emend_leader" ] || [ "$5" = "$emend_leader" ]; then echo "$1"; fi
    done
    for emend_found in $(grep -lsF -- "$emend_mark" /proc/[0-9]*/environ); do
      emend_id=${emend_found#/proc/}
      echo "${emend_id%/environ}"
    done
  else
    ps -A -o pid= -o pgid= -o stat= | while read -r emend_id emend_group emend_state; do
      case $emend_state in Z*) continue ;; esac
      if [ "$emend_group" = "$emend_leader" ]; then echo "$emend_id"; fi
    done
  fi
}

emend_signal() {
  kill "-$1" -- "-$emend_leader"
  # A leader that has just begun has neither its group nor its mark.
  if [ -z "$emend_waited" ]; then kill "-$1" "$emend_leader"; fi
  for emend_id in $(emend_members); do kill "-$1" "$emend_id"; done
}

emend_pause() {
  sleep 0.1 || sleep 1
}

# Ends all processes: SIGTERM, two seconds, SIGKILL until none is left.
emend_end() {
  emend_signal TERM
  # A stopped process handles SIGTERM only after it continues.
  emend_signal CONT
  for emend_step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ -n "$(emend_members)" ] || return 0
    emend_pause
  done
  for emend_step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    emend_signal KILL
    [ -n "$(emend_members)" ] || return 0
    emend_pause
  done
}

cd -P -- "$emend_directory" && [ "$(pwd -P)" = "$emend_directory" ] || emend_say directory 0
emend_shell=/bin/sh
for emend_found in /bin/bash /usr/bin/bash /usr/local/bin/bash; do
  if [ -x "$emend_found" ]; then
    emend_shell=$emend_found
    break
  fi
done
if command -v setsid >/dev/null; then
  emend_session=setsid
elif command -v perl >/dev/null; then
  emend_session=perl
else
  emend_say session 0
fi

(
  eval "$emend_exports"
  EMEND_COMMAND="${EMEND_COMMAND:+$EMEND_COMMAND }$emend_mark"
  export EMEND_COMMAND
  case $emend_session in
    setsid) exec setsid "$emend_shell" -c "$emend_command" ;;
    *) exec perl -e 'use POSIX; POSIX::setsid(); exec @ARGV' "$emend_shell" -c "$emend_command" ;;
  esac
) 2>&4 3<&- 4>&- &
emend_leader=$!

(
  IFS= read -r emend_line <&3
  emend_end
) >/dev/null 4>&- &
emend_watcher=$!

(
  emend_sleep=
  trap 'kill "$emend_sleep"; exit 0' TERM
  sleep "$emend_limit" 3<&- &
  emend_sleep=$!
  wait "$emend_sleep" && emend_end
) >/dev/null 4>&- &
emend_timer=$!

wait "$emend_leader"
emend_status=$?
emend_waited=1
# Processes that the command leaves running may still write their last lines.
for emend_step in 1 2 3; do
  [ -n "$(emend_members)" ] || break
  emend_pause
done
emend_left=$(emend_members | sort -u | wc -l)
if [ "$emend_left" -gt 0 ]; then emend_end; fi
kill "$emend_watcher" "$emend_timer"
wait "$emend_watcher" "$emend_timer"
emend_say "$emend_status" "$((emend_left))"
