import { quoted } from './bash.ts';
import type { CommandGrammar, Grammar, Offer, OptionGrammar } from './grammar.ts';

/** Text inside `[…]` of an `_arguments` specification, or after its colons. */
const plain = (text: string): string => text.replaceAll(/[\\:[\]]/g, (found) => `\\${found}`);

/** The action of a specification. */
function action(offer: Offer): string {
  if (offer === undefined) return ' ';
  if (typeof offer !== 'string') return `(${offer.join(' ')})`;
  if (offer === 'file') return '_files';
  return offer === 'folder' ? '_files -/' : `_warpsmith_${offer}`;
}

function optionSpecs({ long, short, help, isRepeatable, value }: OptionGrammar): string[] {
  const names = value ? [`${long}=`, ...(short === undefined ? [] : [`-${short}+`])] : [long];
  const rest = `[${plain(help)}]${value ? `:${plain(value.name)}:${action(value.offer)}` : ''}`;
  const others = short === undefined ? '' : `(-${short} ${long})`;
  return names.map((name) => quoted(`${isRepeatable ? '*' : others}${name}${rest}`));
}

function commandCase({ name, arguments: positional, options }: CommandGrammar): string {
  const places = positional.map(({ name: shown, isRepeatable, offer }, index) =>
    quoted(`${isRepeatable ? '*' : index + 1}:${plain(shown)}:${action(offer)}`),
  );
  const specs = [...options.flatMap(optionSpecs), ...places];
  return `        ${name}) _arguments ${specs.join(' \\\n          ')} ;;`;
}

/** Completion for zsh, sourced or as `_warpsmith` in fpath. */
export const zshScript = ({ commands, devices, bundled }: Grammar): string => `#compdef warpsmith
# zsh completion of warpsmith
# Load it with: eval "$(warpsmith completion zsh)"

_warpsmith_store() {
  local place=$words[(I)--store=*]
  if (( place )); then print -r -- \${words[place]#*=}; return; fi
  place=$words[(I)--store]
  if (( place )); then print -r -- $words[place+1]; else print -r -- .warpsmith; fi
}

_warpsmith_device() { local -a found=(${devices.map(quoted).join(' ')}); compadd -- $found }
_warpsmith_run() { local -a found=(latest \${~$(_warpsmith_store)}/runs/*(/N:t)); compadd -- $found }
_warpsmith_candidate() { _warpsmith_run; _files -/ }
_warpsmith_target() {
  local -a found=(${bundled.map(quoted).join(' ')})
  if [[ $PREFIX == */* ]]; then compadd -- \${(M)found:#*/*}; else compadd -- \${found:#*/*}; fi
  _files -/
}
_warpsmith_rung() {
  local -a found=(\${words[2]:-.}/*/kernel.json(N:h:t))
  compadd -- $found
  _files -/
}
_warpsmith_command() {
  local -a found=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${plain(summary)}`)}`).join('\n')}
  )
  _describe -t commands 'warpsmith command' found
}

_warpsmith() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C '(- *)--help[show help]' '(- *)--version[show the version]' '1:command:->command' '*::argument:->argument'
  case $state in
    command) _warpsmith_command ;;
    argument)
      case $words[1] in
${commands.map(commandCase).join('\n')}
      esac ;;
  esac
}

if [[ $funcstack[1] == _warpsmith ]]; then _warpsmith "$@"; else compdef _warpsmith warpsmith; fi
`;
