import type { CommandGrammar, Grammar, Offer } from './grammar.ts';

/** `'text'` as fish reads it. */
const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, (found) => `\\${found}`)}'`;

/** What is offered, as options of `complete`; `-r` says that a value follows. */
function offered(offer: Offer): string {
  if (offer === undefined) return '';
  if (typeof offer !== 'string') return ` -a ${quoted(offer.join(' '))}`;
  return offer === 'file' ? ' -F' : ` -a '(__warpsmith_${offer})'`;
}

/** A condition that holds only at one argument's position. fish has no positions, so it counts the words that are no options. */
const atPlace = (name: string, index: number, isRepeatable: boolean): string =>
  quoted(`__warpsmith_at ${name} ${isRepeatable ? `-ge ${index}` : `-eq ${index}`}`);

function commandLines({ name, summary, arguments: positional, options }: CommandGrammar): string[] {
  const start = 'complete -c warpsmith';
  const within = ` -n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
  return [
    `${start} -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...positional.flatMap(({ isRepeatable, offer }, index) =>
      offer === undefined ? [] : [`${start} -n ${atPlace(name, index, isRepeatable)}${offered(offer)}`],
    ),
    ...options.map(({ long, short, help, value }) => {
      const flags = ` -l ${long.slice(2)}${short === undefined ? '' : ` -s ${short}`}`;
      return `${start}${within}${flags}${value ? ` -r${offered(value.offer)}` : ''} -d ${quoted(help)}`;
    }),
  ];
}

/** Flags of any command that take a value. The word after them is not an argument. */
const valueFlags = (commands: readonly CommandGrammar[]): string[] => [
  ...new Set(
    commands.flatMap(({ options }) =>
      options.flatMap(({ long, short, value }) => (value ? [long, ...(short === undefined ? [] : [`-${short}`])] : [])),
    ),
  ),
];

const words = (texts: readonly string[]): string => texts.map(quoted).join(' ');

/** Completion for fish. */
export const fishScript = ({ commands, devices, bundled }: Grammar): string => `# fish completion of warpsmith
# Load it with: warpsmith completion fish | source

function __warpsmith_arguments
    set -l words (commandline -opc)[2..]
    set -l skip 0
    for word in $words
        if test $skip = 1
            set skip 0
        else if contains -- $word ${valueFlags(commands).join(' ')}
            set skip 1
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

# Whether the command is $argv[1] and as many arguments were given as the rest says, e.g. -eq 0.
function __warpsmith_at
    set -l given (__warpsmith_arguments)
    test "$given[1]" = "$argv[1]"; and test (math (count $given) - 1) $argv[2] $argv[3]
end

function __warpsmith_store
    set -l words (commandline -opc)
    set -l found (string match -r -- '^--store=(.*)' $words)[2]
    if set -l place (contains -i -- --store $words)
        set found $words[(math $place + 1)]
    end
    test -n "$found"; and echo $found; or echo .warpsmith
end

function __warpsmith_folder
    __fish_complete_directories (commandline -ct)
end

function __warpsmith_device
    printf '%s\\n' ${words(devices)}
end

function __warpsmith_run
    echo latest
    for run in (__warpsmith_store)/runs/*/
        basename $run
    end
end

function __warpsmith_candidate
    __warpsmith_run
    __warpsmith_folder
end

function __warpsmith_target
    printf '%s\\n' ${words(bundled)}
    __warpsmith_folder
end

function __warpsmith_rung
    for file in (__warpsmith_arguments)[2]/*/kernel.json
        basename (dirname $file)
    end
    __warpsmith_folder
end

function __warpsmith_command
    printf '%s\\n' ${words(commands.map(({ name }) => name))}
end

complete -c warpsmith -e
complete -c warpsmith -f
complete -c warpsmith -n __fish_use_subcommand -l help -d 'show help'
complete -c warpsmith -n __fish_use_subcommand -l version -d 'show the version'
${commands.flatMap(commandLines).join('\n')}
`;
