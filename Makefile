# The everyday commands; the build itself is Meson's (meson.build). Everything is made in $(BUILD).
BUILD ?= build
PREFIX ?= /usr/local
MESON_FLAGS ?=
# Warnings are errors in continuous integration, not on a user's newer compiler.
WERROR ?= $(if $(CI),true,false)

.PHONY: all setup build reference docs demo check check-gpu bench lint install uninstall clean

all: build

# The only targets that install anything: setup, demo, check. FOR=lint or FOR=docs: what these need.
FOR ?= build
setup: ; @tools/setup.sh $(FOR)

$(BUILD)/build.ninja: meson.build meson_options.txt $(wildcard node_modules/.package-lock.json)
	@command -v meson >/dev/null && command -v ninja >/dev/null || tools/setup.sh --missing build
	@[ -d node_modules/uplot ] || echo "Without node_modules/uplot the page has no curves: 'make setup' fetches it"
	@[ -f $@ ] || echo "Building in $(BUILD): a minute or two, the first time"
	@if [ -f $@ ]; then meson setup --reconfigure $(BUILD) >/dev/null; else \
	  meson setup $(BUILD) --prefix=$(PREFIX) -Dwerror=$(WERROR) $(MESON_FLAGS) >/dev/null || \
	  { tail -n 20 $(BUILD)/meson-logs/meson-log.txt; tools/setup.sh --missing build; exit 1; }; fi

# Where nothing is to be done, ninja would say so even when it is quiet.
build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) -n | grep -q 'no work to do' || ninja -C $(BUILD) --quiet

# The pages of the reference that are made from the program's own tables.
reference: build
	@mkdir -p docs/reference
	@for page in options settings-keys registry-keys evidence-kinds; do \
	  $(BUILD)/src/cli/tare --reference $$page > docs/reference/$$page.md || exit 1; done

# A website of the documents; it loads nothing from elsewhere.
docs:
	@tools/setup.sh --missing docs
	@mkdocs build --strict --quiet --site-dir $(abspath $(BUILD))/site
	@echo "$(BUILD)/site/index.html"

demo:
	@tools/setup.sh build
	@$(MAKE) --no-print-directory build
	@BUILD=$(BUILD) tools/demo.sh

check:
	@tools/setup.sh check
	@BUILD=$(BUILD) WERROR=$(WERROR) tests/run.sh

check-gpu: build
	@BUILD=$(BUILD) tests/gpu/run.sh

# BENCH="plan window" runs these only.
bench: build
	@BUILD=$(BUILD) BENCH="$(BENCH)" bench/run.sh

# What is generated must be there for clang-tidy.
lint: build
	@tools/setup.sh --missing lint
	@BUILD=$(BUILD) tools/lint.sh

# A prefix that is given counts, whatever the build was set up with; it is built into the program.
install: build
	@$(if $(filter command environment,$(origin PREFIX)),meson configure $(BUILD) -Dprefix=$(abspath $(PREFIX)))
	@ninja -C $(BUILD) --quiet
	meson install -C $(BUILD) --no-rebuild

# What the last installation from this build folder put there.
uninstall:
	@ninja -C $(BUILD) uninstall

clean:
	rm -rf $(BUILD) $(BUILD)-asan
