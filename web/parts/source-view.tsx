import { useState } from 'preact/hooks';
import type { InspectView } from '../../src/server/wire.ts';
import { heatOf, LINE_FIGURES } from './figures-of-line.ts';

interface SourceViewProps {
  readonly view: InspectView;
  /** Scrolled to and marked. */
  readonly marked?: number | undefined;
}

/** Sources with the counters of each line, and below a line, once it is opened, the PTX that it became. */
export function SourceView({ view, marked }: SourceViewProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void => {
    const next = new Set(open);
    if (!next.delete(key)) next.add(key);
    setOpen(next);
  };
  const files = [...new Set(view.lines.map(({ file }) => file))];
  const hasPtx = view.lines.some(({ ptx }) => ptx.length > 0);
  return (
    <>
      {files.map((file) => (
        <section
          key={file}
          class="scroll source"
          aria-label={file}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
          tabIndex={0}
        >
          <table>
            <thead>
              <tr>
                <th scope="col" class="number">
                  line
                </th>
                {LINE_FIGURES.map(({ title, what }) => (
                  <th key={title} scope="col" class="number" title={what}>
                    {title}
                  </th>
                ))}
                <th scope="col">{file}</th>
                <th scope="col">flags</th>
              </tr>
            </thead>
            <tbody>
              {view.lines
                .filter((line) => line.file === file)
                .map((line) => (
                  <SourceLine
                    key={line.line}
                    line={line}
                    isOpen={open.has(`${file}:${line.line}`)}
                    isMarked={line.line === marked}
                    onToggle={hasPtx && line.ptx.length > 0 ? () => toggle(`${file}:${line.line}`) : undefined}
                  />
                ))}
            </tbody>
          </table>
        </section>
      ))}
    </>
  );
}

interface SourceLineProps {
  readonly line: InspectView['lines'][number];
  readonly isOpen: boolean;
  readonly isMarked: boolean;
  readonly onToggle: (() => void) | undefined;
}

function SourceLine({ line, isOpen, isMarked, onToggle }: SourceLineProps) {
  return (
    <>
      <tr
        class={`heat${heatOf(line)}${isMarked ? ' marked' : ''}`}
        ref={(row) => void (isMarked && row?.scrollIntoView({ block: 'nearest' }))}
      >
        <td class="number">
          {onToggle ? (
            <button
              type="button"
              class="link"
              aria-expanded={isOpen}
              aria-label={`PTX of line ${line.line}`}
              onClick={onToggle}
            >
              {line.line}
            </button>
          ) : (
            line.line
          )}
        </td>
        {LINE_FIGURES.map(({ title, of }) => (
          <td key={title} class="number">
            {of(line)}
          </td>
        ))}
        <td class="code">{line.text}</td>
        <td>{line.flags.join('; ')}</td>
      </tr>
      {isOpen &&
        line.ptx.map(({ line: number, text }) => (
          <tr key={`ptx${number}`} class="ptx">
            <td class="number">{number}</td>
            <td class="code" colSpan={LINE_FIGURES.length + 2}>
              {text}
            </td>
          </tr>
        ))}
    </>
  );
}
