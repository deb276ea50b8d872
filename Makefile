# The front door: `make help`. The build itself is CMake's.
.PHONY: help build test check full quickstart house format install clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)
build: ## optimised build in build/
	cmake --preset release && cmake --build --preset release
test: build ## all tests
	tests/run build
check: ## packages, build, tests: what CI runs
	scripts/check.sh
full: ## check, and again under the sanitizers
	scripts/check.sh --full
quickstart: ## build and train a first model
	scripts/quickstart.sh
house: ## include arrows, file lengths, foreign names
	python3 tools/check_house.py
format: ## clang-format every source file
	git ls-files '*.h' '*.cpp' | xargs clang-format -i
install: build ## install into /usr/local, or PREFIX=...
	cmake --install build --prefix $(or $(PREFIX),/usr/local)
clean: ## remove build/
	rm -rf build
