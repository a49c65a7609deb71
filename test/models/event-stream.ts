/** Server-sent events, read as they come. */
export interface StreamedEvent {
  event: string;
  id: string | undefined;
  data: unknown;
}

export async function* eventsOf(response: Response): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
      );
      const event = fields.get('event');
      if (event !== undefined)
        yield { event, id: fields.get('id'), data: JSON.parse(fields.get('data') ?? '') };
    }
  }
}
