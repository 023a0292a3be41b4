import type { CommandGrammar, Grammar, Offer } from './grammar.ts';

/** `'text'` as a POSIX shell reads it. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** What `_warpsmith_offer` is called with: the name of what is offered, or words. */
function offerWords(offer: Offer): string {
  if (offer === undefined) return 'nothing';
  return typeof offer === 'string' ? offer : `words ${offer.join(' ')}`;
}

function flagCase({ name, options }: CommandGrammar): string {
  const flags = options.flatMap(({ long, short }) => (short === undefined ? [long] : [`-${short}`, long]));
  return `    ${name}) echo ${quoted(flags.join(' '))} ;;`;
}

/** One line per option that takes a value: the candidates for that value. */
const valueCases = ({ name, options }: CommandGrammar): string[] =>
  options.flatMap(({ long, short, value }) => {
    if (!value) return [];
    const flags = [long, ...(short === undefined ? [] : [`-${short}`])];
    return `    ${flags.map((flag) => quoted(`${name} ${flag}`)).join('|')}) echo ${quoted(offerWords(value.offer))} ;;`;
  });

const argumentCases = ({ name, arguments: positional }: CommandGrammar): string[] =>
  positional.map(({ isRepeatable, offer }, index) => {
    const place = isRepeatable ? `${quoted(`${name} `)}*` : quoted(`${name} ${index}`);
    return `    ${place}) echo ${quoted(offerWords(offer))} ;;`;
  });

/** Completion for bash 4 and newer. The line is read anew, since bash parts `virtual:l4` and `--tier=screen` in words. */
export const bashScript = ({ commands, devices, bundled }: Grammar): string => `# bash completion of warpsmith
# Load it with: eval "$(warpsmith completion bash)"

_warpsmith_flags() {
  case $1 in
${commands.map(flagCase).join('\n')}
  esac
}

# What follows an option; fails where nothing does.
_warpsmith_value() {
  case "$1 $2" in
${commands.flatMap(valueCases).join('\n')}
    *) return 1 ;;
  esac
}

_warpsmith_argument() {
  case "$1 $2" in
${commands.flatMap(argumentCases).join('\n')}
    *) echo nothing ;;
  esac
}

_warpsmith_runs() {
  local run
  for run in "$1"/runs/*/; do
    [[ -d $run ]] && run=\${run%/} && echo "\${run##*/}"
  done
}

_warpsmith_kernels() {
  local file
  for file in "$1"/*/kernel.json; do
    [[ -f $file ]] && file=\${file%/kernel.json} && echo "\${file##*/}"
  done
}

_warpsmith_words() { mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$1" -- "$typed"); }

_warpsmith_places() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen "$1" -- "$typed")
}

# Offers what $1 names; uses typed, store and folder of its caller.
_warpsmith_offer() {
  case $1 in
    words) _warpsmith_words "\${*:2}" ;;
    command) _warpsmith_words ${quoted(commands.map(({ name }) => name).join(' '))} ;;
    device) _warpsmith_words ${quoted(devices.join(' '))} ;;
    run) _warpsmith_words "latest $(_warpsmith_runs "$store")" ;;
    candidate) _warpsmith_words "latest $(_warpsmith_runs "$store")"; _warpsmith_places -d ;;
    rung) _warpsmith_words "$(_warpsmith_kernels "$folder")"; _warpsmith_places -d ;;
    target)
      if [[ $typed == */* ]]; then _warpsmith_words ${quoted(bundled.filter((name) => name.includes('/')).join(' '))}
      else _warpsmith_words ${quoted(bundled.filter((name) => !name.includes('/')).join(' '))}; fi
      _warpsmith_places -d ;;
    folder) _warpsmith_places -d ;;
    file) _warpsmith_places -f ;;
  esac
}

_warpsmith() {
  local line=\${COMP_LINE:0:COMP_POINT} typed='' command='' store=.warpsmith folder=. pending='' place=0 word head='' offer
  local -a words
  COMPREPLY=()
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then typed=\${words[-1]}; unset 'words[-1]'; fi
  for word in "\${words[@]:1}"; do
    if [[ -n $pending ]]; then
      [[ $pending == --store ]] && store=$word
      pending=''
    elif [[ -z $command ]]; then
      [[ $word == -* ]] || command=$word
    elif [[ $word == --store=* ]]; then store=\${word#*=}
    elif [[ $word == -* ]]; then
      _warpsmith_value "$command" "$word" >/dev/null && pending=$word
    else
      [[ $place == 0 ]] && folder=$word
      place=$((place + 1))
    fi
  done
  if [[ -z $command ]]; then
    if [[ $typed == -* ]]; then _warpsmith_words '--help --version'; else _warpsmith_offer command; fi
  elif [[ -n $pending ]]; then _warpsmith_offer $(_warpsmith_value "$command" "$pending")
  elif [[ $typed == --*=* ]]; then
    head=\${typed%%=*}
    if offer=$(_warpsmith_value "$command" "$head"); then typed=\${typed#*=}; _warpsmith_offer $offer; fi
    if [[ $COMP_WORDBREAKS == *=* ]]; then head=''; else head+='='; fi
  elif [[ $typed == -* ]]; then _warpsmith_words "$(_warpsmith_flags "$command")"
  else
    offer=$(_warpsmith_argument "$command" "$place")
    if [[ $offer == nothing ]]; then _warpsmith_words "$(_warpsmith_flags "$command")"; else _warpsmith_offer $offer; fi
  fi
  # bash replaces what follows the last colon only.
  [[ $COMP_WORDBREAKS == *:* && $typed == *:* ]] && COMPREPLY=("\${COMPREPLY[@]#"\${typed%"\${typed##*:}"}"}")
  [[ -n $head ]] && COMPREPLY=("\${COMPREPLY[@]/#/$head}")
  return 0
}

complete -F _warpsmith warpsmith
`;
